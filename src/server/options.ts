// The options of a server, and their defaults.

import type { Clock } from '../clock.ts'
import { MEBIBYTE } from '../limits.ts'
import type { HostedRoute } from '../operations/hosted.ts'

/** The facts about an answered request, without its contents. */
export interface LogLine {
  readonly request_id: string
  readonly method: string
  /** The pattern of its path; null if there is no such route. */
  readonly route: string | null
  readonly status: number
  readonly ms: number
  /** Null without a valid credential. */
  readonly key_id: string | null
  /** The trace of the caller (W3C Trace Context), and this request within it. */
  readonly trace_id?: string
  readonly span_id?: string
  /** The code of the error; `unexpected` for one without a code. */
  readonly error?: string
  /** Where that was thrown: the newest calls, by file and line. */
  readonly at?: readonly string[]
}

export interface ServerLimits {
  /** The most that one request may send: more is refused, and not read. */
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly headers: number
  readonly connections: number
  /** How long a client may take to send its headers, and the whole of a request. */
  readonly headersMs: number
  readonly requestMs: number
  /** How long a connection may wait for its next request, and be still during one. */
  readonly keepAliveMs: number
  readonly stillMs: number
  /** How long requests may take to end once the server closes. */
  readonly closeMs: number
  readonly inFlightPerKey: number
  readonly requestsPerSecondPerKey: number
  /** Answers without an end, such as subscriptions of the Model Context Protocol. */
  readonly streamsPerKey: number
  /** Bodies and answers of its requests, together: what needs more waits. */
  readonly heldBytesPerKey: number
  /** How long regular expressions of its requests may take in a minute, in threads of their own. */
  readonly matchingMsPerMinutePerKey: number
}

export interface MetricsOptions {
  /** 0: any that is free. */
  readonly port: number
  /** `127.0.0.1` by default. */
  readonly host?: string | undefined
}

/** Serves each store by git's smart HTTP, for reading, to the keys that fetch it. */
export interface WebGitOptions {
  /** Origins whose web pages may fetch, such as `https://app.example`: none by default. */
  readonly origins?: readonly string[] | undefined
  /** Variables for the program git, which is found by PATH. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
}

export interface HttpOptions {
  /** Where to listen: `127.0.0.1` by default. */
  readonly host?: string | undefined
  /** 0, the default: any that is free. */
  readonly port?: number | undefined
  /** PEM. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** A proxy of this machine's operator speaks TLS with the clients. */
  readonly behindProxy?: boolean | undefined
  /** Names by which clients reach the server, in addition to those of this machine. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Origins whose web pages may ask: none by default. */
  readonly allowedOrigins?: readonly string[] | undefined
  /** What other adapters answer, such as `mcpRoute` of `gitlocket/mcp`, by any method. */
  readonly routes?: readonly HostedRoute[] | undefined
  /** Serves the stores by git, for reading. Needs the program git. Default: not. */
  readonly webGit?: WebGitOptions | undefined
  readonly limits?: Partial<ServerLimits> | undefined
  /** Gets a line for each request, to be written as JSON. */
  readonly log?: ((line: LogLine) => void) | undefined
  /** Shows figures for Prometheus, without TLS, on a port of their own. Default: none. */
  readonly metrics?: MetricsOptions | undefined
  readonly clock?: Clock
}

export const limitsDefault: ServerLimits = {
  bodyBytes: MEBIBYTE,
  headerBytes: 16_384,
  headers: 100,
  connections: 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  stillMs: 300_000,
  closeMs: 10_000,
  inFlightPerKey: 512,
  requestsPerSecondPerKey: 10_000,
  streamsPerKey: 64,
  // For a server that may hold 512 MiB: sixteen lists, or 512 requests of other kinds.
  heldBytesPerKey: 64 * MEBIBYTE,
  // Two threads match 120 s in a minute, and one search for 2 s at most.
  matchingMsPerMinutePerKey: 20_000,
}
