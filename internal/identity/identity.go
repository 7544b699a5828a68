package identity

import (
	"context"
	"errors"
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

	"github.com/kinship-dev/kinship/internal/options"
)

const (
	// tokenLifetime is the lifetime that tokenSource.Token requests; the API server may grant less.
	tokenLifetime = time.Hour
	// rightsSettle is how long the API server may take to apply a new Role.
	rightsSettle = 10 * time.Second
)

// AsOperator returns a rest.Config that acts as [options.Account], and the user name of [options.Account].
// ValidatingAdmissionPolicies let only the users in [options.Operators] change locks, so the operator acts
// as the same users inside and outside the cluster.
func AsOperator(ctx context.Context, config *rest.Config) (*rest.Config, string, error) {
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
	if name == options.Operator {
		return config, name, nil
	}
	own, err := As(ctx, config, options.Account)
	return own, options.Operator, err
}

// As returns a rest.Config that acts as a ServiceAccount in namespace kinship-system. The given
// rest.Config requests the tokens. If the ServiceAccount does not exist, As returns
// ErrNotInstalled.
func As(ctx context.Context, config *rest.Config, account string) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	tokens := &tokenSource{ctx: ctx, clients: clients, account: account}
	_, err = tokens.Token()
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("account %s: %w", account, ErrNotInstalled)
	}
	if err != nil {
		return nil, err
	}
	own := rest.AnonymousClientConfig(config)
	own.QPS, own.WarningHandler = config.QPS, config.WarningHandler
	own.Wrap(transport.TokenSourceWrapTransport(transport.NewCachedTokenSource(tokens)))
	return own, nil
}

// AsPack returns a rest.Config that acts as [options.AccountOf] a pack. The base rest.Config requests
// the tokens. The Role with the right to create tokens may be a moment old, so AsPack repeats a
// Forbidden request for rightsSettle.
func AsPack(ctx context.Context, base *rest.Config, name string) (*rest.Config, error) {
	var own *rest.Config
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, rightsSettle, true,
		func(context.Context) (bool, error) { // The token source outlives the poll's context.
			if own, last = As(ctx, base, options.AccountOf(name)); apierrors.IsForbidden(last) {
				return false, nil
			}
			return true, last
		})
	if wait.Interrupted(err) && last != nil {
		return nil, fmt.Errorf("%w; run once with --install, which gives the right", last)
	}
	return own, err
}

// Installed returns the packs whose accounts exist: those for which the user may request a token.
func Installed(ctx context.Context, config *rest.Config) (packs []string, err error) {
	for _, name := range options.PackNames() {
		_, err := As(ctx, config, options.AccountOf(name))
		if errors.Is(err, ErrNotInstalled) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find the packs that are installed, which --packs would name: %w", err)
		}
		packs = append(packs, name)
	}
	if len(packs) == 0 {
		return options.FirstPacks(), nil
	}
	return packs, nil
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
		request, err = s.clients.CoreV1().ServiceAccounts(options.Namespace).CreateToken(s.ctx, s.account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
			metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for a token of account %s/%s: %w", options.Namespace, s.account, err)
	}
	return &oauth2.Token{
		AccessToken: request.Status.Token, TokenType: "Bearer", Expiry: request.Status.ExpirationTimestamp.Time,
	}, nil
}

// isLost reports whether an error is no answer of the API server.
func isLost(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }

// ErrNotInstalled says that an account or a CustomResourceDefinition of the operator does not exist.
var ErrNotInstalled = errors.New("the definitions of the packs are not installed: run with --install")
