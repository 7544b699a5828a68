package app

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/retry"
)

const (
	// tokenLifetime is the lifetime that tokenSource.Token requests; the API server may grant less.
	tokenLifetime = time.Hour
	// rightsSettle is how long the API server may take to apply a new Role.
	rightsSettle = 10 * time.Second
)

// become returns a rest.Config that acts as [Account], and the user name of [Account].
// ValidatingAdmissionPolicies let only the users in [Operators] change locks, so the operator acts
// as the same users inside and outside the cluster.
func become(ctx context.Context, config *rest.Config) (*rest.Config, string, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("make client: %w", err)
	}
	self, err := clients.AuthenticationV1().SelfSubjectReviews().Create(
		ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("ask who we are: %w", err)
	}
	name := self.Status.UserInfo.Username
	if name == Operator {
		return config, name, nil
	}
	own, err := actAs(ctx, config, Account)
	return own, Operator, err
}

// actAs returns a rest.Config that acts as a ServiceAccount in namespace kinship-system. The given
// rest.Config requests the tokens. If the ServiceAccount does not exist, actAs returns
// errNotInstalled.
func actAs(ctx context.Context, config *rest.Config, account string) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	tokens := &tokenSource{ctx: ctx, clients: clients, account: account}
	_, err = tokens.Token()
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("account %s: %w", account, errNotInstalled)
	}
	if err != nil {
		return nil, err
	}
	own := rest.AnonymousClientConfig(config)
	own.QPS, own.WarningHandler = config.QPS, config.WarningHandler
	own.Wrap(transport.TokenSourceWrapTransport(transport.NewCachedTokenSource(tokens)))
	return own, nil
}

// actAsPack returns a rest.Config that acts as [AccountOf] a pack. The base rest.Config requests
// the tokens. The Role with the right to create tokens may be a moment old, so actAsPack repeats a
// Forbidden request for rightsSettle.
func actAsPack(ctx context.Context, base *rest.Config, name string) (*rest.Config, error) {
	var own *rest.Config
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, rightsSettle, true,
		func(context.Context) (bool, error) { // The token source outlives the poll's context.
			if own, last = actAs(ctx, base, AccountOf(name)); apierrors.IsForbidden(last) {
				return false, nil
			}
			return true, last
		})
	if wait.Interrupted(err) && last != nil {
		return nil, fmt.Errorf("%w; run once with --install, which gives the right", last)
	}
	return own, err
}

// tokenSource requests tokens of a ServiceAccount.
type tokenSource struct {
	ctx     context.Context //nolint:containedctx // oauth2.TokenSource has no context of its own
	clients kubernetes.Interface
	account string
}

// Token implements oauth2.TokenSource. A request for a token changes nothing, so Token repeats a
// request whose answer was lost.
func (s *tokenSource) Token() (*oauth2.Token, error) {
	seconds := int64(tokenLifetime.Seconds())
	var request *authenticationv1.TokenRequest
	err := retry.OnError(retry.DefaultBackoff, isLost, func() (err error) {
		request, err = s.clients.CoreV1().ServiceAccounts(Namespace).CreateToken(s.ctx, s.account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
			metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for a token of account %s/%s: %w", Namespace, s.account, err)
	}
	return &oauth2.Token{
		AccessToken: request.Status.Token, TokenType: "Bearer", Expiry: request.Status.ExpirationTimestamp.Time,
	}, nil
}

// isLost reports whether an error is no answer of the API server.
func isLost(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }
