package app

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// tokenLifetime is what is asked for; the API server may give less.
const tokenLifetime = time.Hour

// become returns a configuration that acts as the operator's own account, and
// the user name that it acts as. The policies in the API server let one identity
// alone touch locks, so the operator is the same user inside and outside the
// cluster.
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
	tokens := &tokenSource{ctx: ctx, clients: clients}
	if _, err := tokens.Token(); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, "", errNotInstalled
		}
		return nil, "", err
	}
	own := rest.AnonymousClientConfig(config)
	own.QPS, own.WarningHandler = config.QPS, config.WarningHandler
	own.Wrap(transport.TokenSourceWrapTransport(transport.NewCachedTokenSource(tokens)))
	return own, Operator, nil
}

// tokenSource asks for tokens of the operator's account.
type tokenSource struct {
	ctx     context.Context //nolint:containedctx // oauth2.TokenSource has no context of its own
	clients kubernetes.Interface
}

// Token implements oauth2.TokenSource.
func (s *tokenSource) Token() (*oauth2.Token, error) {
	seconds := int64(tokenLifetime.Seconds())
	request, err := s.clients.CoreV1().ServiceAccounts(Namespace).CreateToken(s.ctx, Account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a token of account %s/%s: %w", Namespace, Account, err)
	}
	return &oauth2.Token{
		AccessToken: request.Status.Token, TokenType: "Bearer", Expiry: request.Status.ExpirationTimestamp.Time,
	}, nil
}
