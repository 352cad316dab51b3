// The trace that a request belongs to (W3C Trace Context): named by its header `traceparent`, or by
// the `_meta` of a call of MCP.

import { toHex } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'

export interface Trace {
  /** 32 hex digits, as the caller has chosen them. */
  readonly traceId: string
  /** 16 hex digits: this request within the trace. */
  readonly spanId: string
  /** Two hex digits, the caller's. */
  readonly flags: string
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/
const SPAN_BYTES = 8

/** Undefined for anything but the header of a trace, which is ignored as the standard asks. */
export function findTrace(traceparent: unknown): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, traceId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || flags === undefined) return undefined
  return { traceId, spanId: toHex(systemRandom(SPAN_BYTES)), flags }
}

/** The header `traceresponse` of an answer, by which a client finds the line of the log. */
export function traceResponse({ traceId, spanId, flags }: Trace): string {
  return `00-${traceId}-${spanId}-${flags}`
}
