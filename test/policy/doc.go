// Package policy tests what users see where a policy in the API server refuses
// deletions (--enforcement=policy), and no webhook is ever asked. That needs a
// cluster that the webhooks were never installed in.
package policy
