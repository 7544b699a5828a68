// Package redact makes texts fit to be shown: in conditions, events, logs and traces. [Text] removes the queries of
// addresses, which may be signed, and characters that control a terminal. [Transport] hides queries from
// instrumentation.
//
//	Get "https://arm.example/operations/7?sig=9f3a": EOF  ->  Get "https://arm.example/operations/7": EOF
//	a\x1b[31mb                                            ->  a\u001b[31mb
package redact
