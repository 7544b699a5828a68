package security_test

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// awaitRights waits until the API server gives a user all of the rights, or none
// of them: it learns of roles by a watch.
func (l land) awaitRights(user string, want bool, rules ...rbacv1.PolicyRule) {
	l.T.Helper()
	testenv.AwaitRights(l.T, user, l.NS, want, rules...)
}
