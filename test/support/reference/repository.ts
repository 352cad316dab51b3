// FORMAT §2 and §8.3: the objects that a bare repository's refs/heads/main reaches, read by stock
// git and checked against their ids.

import { spawnSync } from 'node:child_process'
import { ascii } from './bytes.ts'
import { ensure, refuse } from './refusal.ts'
import { gitOid, type ObjectType } from './tree.ts'

export interface Repository {
  /** The commit of refs/heads/main. */
  readonly head: string
  /** The body of an object; else `object_missing` or `object_corrupt`. */
  read(type: ObjectType, oid: string): Uint8Array
}

interface GitAnswer {
  readonly status: number | null
  readonly output: Buffer
}

/** Runs git without the caller's configuration, and without replacement objects. */
function git(directory: string, commandLine: readonly string[], input = ''): GitAnswer {
  const env = {
    PATH: process.env['PATH'],
    GIT_DIR: directory,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
  }
  const result = spawnSync('git', commandLine, { env, input, maxBuffer: Infinity })
  return { status: result.status, output: result.stdout }
}

function checkComplete(directory: string): void {
  const shallow = git(directory, ['rev-parse', '--is-shallow-repository'])
  ensure(shallow.status === 0, 'not_a_store', 'This is not a git repository')
  const filters = ['config', '--get-regexp', 'promisor|partialclone']
  const partial = git(directory, filters).output.length > 0
  const whole = ascii(shallow.output).trim() === 'false' && !partial
  ensure(whole, 'incomplete_clone', 'A shallow or filtered clone does not verify')
}

export function openRepository(directory: string): Repository {
  checkComplete(directory)
  const ref = git(directory, ['rev-parse', '--verify', '--end-of-options', 'refs/heads/main'])
  ensure(ref.status === 0, 'not_a_store', 'The repository has no branch main')
  const head = ascii(ref.output).trim()
  const listed = git(directory, ['rev-list', '--objects', '--no-object-names', head])
  ensure(listed.status === 0, 'object_missing', 'Git cannot list the objects of the history')
  const batch = git(directory, ['cat-file', '--batch'], ascii(listed.output))
  ensure(batch.status === 0, 'object_corrupt', 'Git cannot read the objects of the history')
  const objects = parseBatch(batch.output)
  const read = (type: ObjectType, oid: string) =>
    objects.get(`${type} ${oid}`) ?? refuse('object_missing', 'An object is missing')
  return { head, read }
}

/** The answers `<oid> <type> <size>\n<body>\n` of git cat-file --batch: `<type> <oid>` → body. */
export function parseBatch(output: Buffer): Map<string, Uint8Array> {
  const objects = new Map<string, Uint8Array>()
  for (let at = 0; at < output.length;) {
    const bodyStart = output.indexOf('\n', at) + 1
    const [oid, type, size] = ascii(output.subarray(at, bodyStart - 1)).split(' ')
    if (type !== 'commit' && type !== 'tree' && type !== 'blob') {
      return refuse('object_missing', 'An object is missing or has an unknown type')
    }
    const body = new Uint8Array(output.subarray(bodyStart, bodyStart + Number(size)))
    ensure(gitOid(type, body) === oid, 'object_corrupt', 'An object is not its id’s')
    objects.set(`${type} ${oid}`, body)
    at = bodyStart + body.length + 1
  }
  return objects
}
