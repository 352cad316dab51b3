// Git's smart HTTP for reading one store (docs/SERVER.md, "Fetching by git"): the list of refs and
// fetches, for the keys that fetch, and for the web pages of the allowed origins. Serves ciphertext
// alone, and no push. Must not know git's repositories or processes: hosting/ has them.

import { asciiText } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { GitService } from '../hosting/git-service.ts'
import type { HostedCall, HostedRoute } from '../operations/hosted.ts'
import type { WebGitOptions } from './options.ts'

const STORE = '/git/:store'

/** Throws `invalid_input` without git, or for an origin that is not one. */
export async function webGitRoutes(options: WebGitOptions): Promise<readonly HostedRoute[]> {
  const { origins = [], environment } = options
  for (const origin of origins) checkOrigin(origin)
  const service = new GitService(environment)
  await service.check()
  const fetching = { origins: new Set(origins) }
  return [
    { path: `${STORE}/info/refs`, fetching, handle: (call) => list(service, call) },
    { path: `${STORE}/git-upload-pack`, fetching, handle: (call) => fetch(service, call) },
    { path: `${STORE}/git-receive-pack`, fetching, handle: refusePush },
  ]
}

/** An origin as browsers send it. Refuses `null`, which any sandboxed page has. */
function checkOrigin(text: string): void {
  if (/^https?:$/.test(findUrl(text)?.protocol ?? '') && findUrl(text)?.origin === text) return
  const problem = 'An origin is a scheme and a host, such as https://app.example, without a path'
  throw new StoreError('invalid_input', problem)
}

function findUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

async function list(service: GitService, { host, caller, request }: HostedCall): Promise<Response> {
  const url = new URL(request.url)
  const asked = url.searchParams.get('service')
  if (asked === 'git-receive-pack') return refusePush()
  if (request.method !== 'GET' || asked !== 'git-upload-pack') throw noRoute()
  const refs = await service.list({ host, caller, storeId: storeOf(url) })
  return new Response(asciiText(refs), {
    headers: { 'content-type': 'application/x-git-upload-pack-advertisement' },
  })
}

async function fetch(service: GitService, call: HostedCall): Promise<Response> {
  const { host, caller, request, beginStream } = call
  if (request.method !== 'POST') throw noRoute()
  if (request.headers.get('content-type') !== 'application/x-git-upload-pack-request') {
    throw new StoreError('invalid_input', 'The content type must be that of a fetch of git')
  }
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = { bytes, encoding: request.headers.get('content-encoding') }
  const storeId = storeOf(new URL(request.url))
  const answer = await service.fetch({ host, caller, storeId }, body, beginStream())
  return new Response(answer, {
    headers: { 'content-type': 'application/x-git-upload-pack-result' },
  })
}

async function refusePush(): Promise<Response> {
  throw new StoreError('permission_denied', 'The server serves stores by git for reading alone')
}

/** Whether it is one is for the host to tell. */
function storeOf({ pathname }: URL): string {
  const [, , name = ''] = pathname.split('/')
  if (!name.endsWith('.git')) throw noRoute()
  return name.slice(0, -'.git'.length)
}

function noRoute(): StoreError {
  return new StoreError('not_found', 'There is no such route')
}
