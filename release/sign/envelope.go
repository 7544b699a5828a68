package sign

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
)

// StatementType is the payloadType of in-toto statements, such as provenance.json.
const StatementType = "application/vnd.in-toto+json"

// envelope is a DSSE envelope.
type envelope struct {
	PayloadType string            `json:"payloadType"`
	Payload     []byte            `json:"payload"`
	Signatures  []envelopeSigning `json:"signatures"`
}

type envelopeSigning struct {
	Sig []byte `json:"sig"`
}

// signed returns the bytes that a signature of an envelope signs: payloadType and payload.
func (e envelope) signed() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// Statement returns a statement as a signed DSSE envelope.
func Statement(key *ecdsa.PrivateKey, statement []byte) ([]byte, error) {
	e := envelope{PayloadType: StatementType, Payload: statement}
	made, err := signature(key, e.signed())
	if err != nil {
		return nil, err
	}
	e.Signatures = []envelopeSigning{{made}}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write envelope: %w", err)
	}
	return append(text, '\n'), nil
}

// VerifyStatement returns the statement of a DSSE envelope that the key has signed.
func VerifyStatement(key *ecdsa.PublicKey, text []byte) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("read envelope: %w", err)
	}
	if e.PayloadType != StatementType {
		return nil, fmt.Errorf("%w: the payload is %q and no statement", errRefused, e.PayloadType)
	}
	for _, s := range e.Signatures {
		if check(key, e.signed(), s.Sig) == nil {
			return e.Payload, nil
		}
	}
	return nil, fmt.Errorf("%w: no signature of the envelope is by this key", errRefused)
}
