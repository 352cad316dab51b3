// The types between a store and a remote: how a remote is reached, which refs it has, and the packs
// to fetch and push. Must contain types only.

import type { StoreError } from '../errors.ts'
import type {
  BoundaryChange,
  Incoming,
  OutgoingPack,
  ReceivedPack,
  ReceiveLimits,
} from '../git/exchange.ts'
import type { Oid } from '../git/objects/object.ts'
import type { PacketReader } from './pkt-line.ts'
import type { HttpUrl } from './remote-url.ts'
import type { Patience } from './stall.ts'

/** Supplies credentials for a host; `attempt` counts from 1 and grows after each rejection. */
export type CredentialSource = (request: {
  readonly url: string
  readonly attempt: number
}) => Promise<Credentials | undefined>

export interface Credentials {
  readonly username: string
  readonly password: string
}

export type Service = 'git-upload-pack' | 'git-receive-pack'

export interface RemoteWire {
  /** Passwords that were used, which must not be shown. */
  readonly secrets: readonly string[]
  /** Asks for the refs: packets that begin with the list. */
  list(): Promise<PacketReader>
  /** Sends the request of `length` bytes; resolves to the answer when it begins. */
  send(body: AsyncIterable<Uint8Array>, length: number): Promise<AsyncIterable<Uint8Array>>
  /** Why an answer ended early, if the wire knows. */
  explain(): Promise<StoreError | undefined>
  close(): Promise<void>
}

/** Opens a wire to an http address, in place of the sockets of this machine. */
export type OpenWire = (
  url: HttpUrl,
  service: Service,
  access: RemoteAccess,
  patience: Patience,
) => RemoteWire

/** The address of a remote and how this machine connects to it. */
export interface RemoteAccess {
  /** An address that `parseRemoteUrl` accepts. */
  readonly url: string
  /**
   * Called when a host requires credentials; by default GITLOCKET_TOKEN for the host that
   * GITLOCKET_TOKEN_HOST names, then git's helpers.
   */
  readonly credentials?: CredentialSource | undefined
  /** Program and arguments instead of `ssh`, like git's core.sshCommand. */
  readonly sshCommand?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
  /** The longest time without progress before `remote_timeout`; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** PEM of certificate authorities to trust in addition to those of the platform. */
  readonly certificateAuthorities?: string | undefined
  /** Allows http:// to other machines, although anyone on the way can read and change the data. */
  readonly allowHttp?: boolean | undefined
  /** The process environment: PATH, HOME, SSH_AUTH_SOCK and the like. No other is read. */
  readonly environment?: ProcessEnvironment | undefined
  /**
   * @internal What hosts have accepted, by address: they are then asked with it at once, and once.
   */
  readonly accepted?: Map<string, Credentials> | undefined
  /** @internal `http.proxy` of git by URL, as long as requests succeed. */
  readonly proxies?: Map<string, string | undefined> | undefined
  /**
   * @internal Names of devices, as refs of grants end with them: these refs are kept however many
   * others the remote lists.
   */
  readonly grantNames?: readonly string[] | undefined
  /** @internal How http addresses are reached where there are no sockets; others are refused. */
  readonly wire?: OpenWire | undefined
  /** Called with each line of the remote's messages, sanitised. */
  readonly onMessage?: ((text: string) => void) | undefined
}

/** How this machine connects to a remote whose address is known otherwise. */
export type RemoteOptions = Omit<RemoteAccess, 'url'>

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>

export interface RemoteRefs {
  /** refs/heads/main; undefined if the remote has no such branch. */
  readonly head: Oid | undefined
  /** The number of other refs. */
  readonly others: number
  /**
   * The baselines and wraps of grants by the names of their refs (FORMAT §13), in order of name:
   * see `isGrantRef`. Of each kind, those that were asked for by `grantNames`, and 1,024 others.
   */
  readonly named: ReadonlyMap<string, Oid>
  /**
   * How many refs a remote lists beyond those, by what their names begin with; by '' all branches,
   * tags and others if they are more than 1,024.
   */
  readonly ignored: ReadonlyMap<string, number>
  readonly capabilities: ReadonlySet<string>
}

/** In bytes while a pack is transferred, in objects while it is checked. */
export interface TransferProgress {
  readonly phase: 'receiving' | 'checking' | 'sending'
  readonly done: number
  readonly total: number | undefined
}

export interface FetchRequest {
  /** A commit that the remote has just advertised. */
  readonly want: Oid
  /** Other objects that it has advertised, such as the blob of a start. */
  readonly wants?: readonly Oid[] | undefined
  /** Commits that are stored here completely, the newest first. */
  readonly haves: readonly Oid[]
  /** How many commits to send of each line of history, 2^31 − 1 for all; undefined for no limit. */
  readonly deepen?: number | undefined
  /** The boundary of the store: see `PackExchange.shallow`. */
  readonly shallow?: readonly Oid[] | undefined
  /** Receives the objects, apart from the store's own. */
  readonly into: Pick<Incoming, 'receive'>
  readonly limits?: Partial<ReceiveLimits> | undefined
  readonly progress?: ((progress: TransferProgress) => void) | undefined
}

/** The change of a ref that keeps a start or wraps of grants. */
export interface RefChange {
  /** A name that `isGrantRef` accepts. */
  readonly name: string
  /** The lease: the ref is changed only if it is at this object, or missing. */
  readonly expected: Oid | undefined
  /** Undefined deletes the ref. */
  readonly next: Oid | undefined
}

/** A ref that the remote, or the lease, did not let change. */
export interface RefusedRef {
  readonly name: string
  /** A clause, sanitised. */
  readonly reason: string
}

export interface PushRequest {
  /** The lease: nothing is sent unless the remote's branch is at this commit. */
  readonly expected?: Oid | undefined
  /** Undefined leaves the branch as it is. */
  readonly next?: Oid | undefined
  /**
   * Every object reachable from `next` and not from `expected`, and the new objects of `others`;
   * undefined if the remote has them all.
   */
  readonly pack?: OutgoingPack | undefined
  /** Further refs, changed after the branch, each by itself. */
  readonly others?: readonly RefChange[] | undefined
  readonly progress?: ((progress: TransferProgress) => void) | undefined
}

/** One conversation with a remote, for one fetch or push. Must be closed in any case. */
export interface FetchConnection {
  readonly refs: RemoteRefs
  /**
   * Throws `remote_protocol`, with nothing sent, if the remote cannot limit the history and the
   * request does.
   */
  fetch(request: FetchRequest): Promise<ReceivedPack & BoundaryChange>
  close(): Promise<void>
}

export interface PushConnection {
  readonly refs: RemoteRefs
  /** Throws `remote_moved` unless the remote's branch was at this commit when this began. */
  expect(head: Oid | undefined): void
  /** Resolves to the refs of `others` that are unchanged, if the branch could be moved. */
  push(request: PushRequest): Promise<readonly RefusedRef[]>
  close(): Promise<void>
}
