// `doctor --leaks`: runs a scratch store in a temporary directory and searches everything that it
// leaves on disk for its canaries. Needs no store of the user.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemDisk } from '../../disk/disk.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import { decodeTree, type Oid } from '../../git/objects/object.ts'
import { attempt, errnoOf } from '../../home/files.ts'
import type { Answer } from '../command.ts'
import type { Context } from '../context.ts'
import { redirectTemporaryFiles } from '../environment.ts'
import { countText, sizeText } from '../sizes.ts'
import { type Canary, CanarySearch, type Hit, needlesOf } from './canaries.ts'
import { makeSubject } from './scratch-store.ts'

const LEAKED = 11
const UNTRUSTWORTHY = 1

export async function findLeaks(context: Context): Promise<Answer> {
  const parent = tmpdir()
  const root = attempt('make a directory', parent, () => {
    return mkdtempSync(join(parent, 'gitlocket-leaks-'))
  })
  const remove = context.interrupts.atExit(() => rmSync(root, { recursive: true, force: true }))
  try {
    return await searchIn(context, root)
  } finally {
    remove()
  }
}

async function searchIn(context: Context, root: string): Promise<Answer> {
  const temporary = join(root, 'tmp')
  mkdirSync(temporary)
  redirectTemporaryFiles(temporary)
  const subject = await makeSubject()
  const search = new CanarySearch(subject.canaries)
  const directory = join(root, 'store')
  await subject.live(
    { directory, stateDirectory: join(root, 'state') },
    {
      async look(moment) {
        context.interrupts.signal.throwIfAborted()
        searchFiles(search, root, moment)
        await searchObjects(search, directory, moment)
        searchWithGit(search, context, directory, moment)
      },
      hear: (message) => search.text('an error message', message),
    },
  )
  return report(search, findsPlanted(subject.canaries))
}

/** Searches the bytes and the name of every file, temporary ones included. */
function searchFiles(search: CanarySearch, root: string, moment: string): void {
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const bytes = findFile(join(root, name))
    if (bytes !== undefined) search.file(`${name}, ${moment}`, bytes)
  }
}

/** Undefined for anything but a file, and for a file that a worker of the store just removed. */
function findFile(path: string): Buffer | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Searches every object that the head reaches, in journal and packs, as the store reads it. */
async function searchObjects(
  search: CanarySearch,
  directory: string,
  moment: string,
): Promise<void> {
  const objects = await openDiskObjectStore({ directory, disk: systemDisk })
  const seen = new Set<Oid>()
  const waiting = objects.head === undefined ? [] : [objects.head]
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    if (seen.has(oid)) continue
    seen.add(oid)
    waiting.push(...searchObject(search, objects, oid, moment))
  }
  await objects.close()
}

/** Searches one object. Returns the objects that it names. */
function searchObject(
  search: CanarySearch,
  objects: ObjectStore,
  oid: Oid,
  moment: string,
): readonly Oid[] {
  const object = objects.read(oid)
  if (object === undefined) throw new Error('An object of the scratch store is missing')
  const body = Buffer.from(object.body)
  search.object(`${object.type} ${oid}, ${moment}`, body)
  if (object.type === 'tree') return decodeTree(body).map((entry) => entry.oid)
  if (object.type === 'blob') return []
  const header = body.toString('latin1').split('\n\n')[0] ?? ''
  return [...header.matchAll(/^(?:tree|parent) ([0-9a-f]{40})$/gm)].map((match) => match[1] ?? '')
}

/** Searches every object that git finds, reachable or not, if git is installed. */
function searchWithGit(
  search: CanarySearch,
  context: Context,
  directory: string,
  moment: string,
): void {
  const args = [`--git-dir=${directory}`, 'cat-file', '--batch-all-objects', '--batch']
  const { status, stdout } = spawnSync('git', args, {
    env: { PATH: context.environment.searchPath, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' },
    maxBuffer: 1024 ** 3,
  })
  if (status === 0) search.object(`all objects as git reads them, ${moment}`, stdout)
}

/** The control: a search that cannot find planted canaries proves nothing. */
function findsPlanted(canaries: readonly Canary[]): boolean {
  const needles = canaries.flatMap(needlesOf)
  return needles.every(({ canary, encoding, bytes }) => {
    const control = new CanarySearch([canary])
    control.file('control', Buffer.concat([Buffer.alloc(999, 7), bytes, Buffer.alloc(99, 7)]))
    return control.hits.some((hit) => hit.encoding === encoding)
  })
}

function report(search: CanarySearch, trustworthy: boolean): Answer {
  const { counts, hits } = search
  const files = countText(counts.files, 'file', 'files')
  const objects = countText(counts.objects, 'object', 'objects')
  const texts = countText(counts.texts, 'message', 'messages')
  const searched = `${files}, ${objects} and ${texts}, ${sizeText(counts.bytes)} in all`
  const verdict = !trustworthy
    ? 'The control was not found: this search proves nothing'
    : hits.length === 0
      ? 'No leak: no canary was found, in plain, base64, hex or UTF-16'
      : `LEAK: canaries were found\n${hits.map(hitText).join('')}`
  const exitCode = !trustworthy ? UNTRUSTWORTHY : hits.length === 0 ? 0 : LEAKED
  return {
    text: `Searched ${searched}\n${verdict.trimEnd()}\n`,
    json: { leaks: hits, searched: counts, control_found: trustworthy },
    exitCode,
  }
}

function hitText({ place, encoding, where }: Hit): string {
  return `  ${place} (${encoding}) in ${where}\n`
}
