// Package policy tests protection by a ValidatingAdmissionPolicy
// (--enforcement=policy), which refuses deletions without a call to the webhook, in a
// cluster in which no ValidatingWebhookConfiguration was ever installed.
package policy
