// How long each long operation keeps the event loop from running anything else: a server with many
// stores answers nobody meanwhile.

import { mkdirSync } from 'node:fs'
import {
  addRemote,
  changeNotes,
  type Clone,
  cloneOf,
  joinClone,
  secondClone,
  syncClone,
} from '../clones.ts'
import { hostKinds } from '../hosts.ts'
import { intruder } from '../long-history.ts'
import { atMost, type Section } from '../report.ts'
import { besideStore, lastMemory, replacedVersions, type Site, withCopy } from '../site.ts'
import { digits, milliseconds } from '../statistics.ts'
import type { Task } from '../task-child.ts'
import { runTask } from '../task.ts'

const delayMax = 50
/** New memories, so many that packs are made and merged meanwhile. */
const created = 5_000

/** Milliseconds. */
interface Stall {
  readonly what: string
  readonly work: number
  readonly longest: number
}

export async function measureStalls(site: Site): Promise<Section> {
  const stalls: Stall[] = []
  for (const [what, task] of await tasksOf(site)) {
    site.context.log(`the longest delay: ${what}`)
    stalls.push(await withCopy(site, (copy) => runOn(copy, what, task)))
  }
  site.context.log('the longest delay: merge')
  stalls.push(...(await withCopy(site, mergeClones)))
  return {
    bounds: stalls.map(({ what, longest }) => {
      return atMost(`longest delay of the event loop: ${what}`, longest, delayMax, milliseconds)
    }),
    tables: [
      {
        title: `The longest delay of the event loop ${site.size}`,
        columns: ['', 'longest delay', 'the call'],
        rows: stalls.map(({ what, work, longest }) => {
          return [what, milliseconds(longest), milliseconds(work)]
        }),
        notes: [
          'A timer of one millisecond runs in the process of each call, which has a copy of the ' +
            'store of its own: how late it was at most, garbage collections and whatever else ' +
            'ran on the machine included.',
        ],
      },
    ],
  }
}

async function tasksOf(site: Site): Promise<readonly (readonly [string, Task])[]> {
  const { commits, recent } = site.context.scale
  const [near, far] = await replacedVersions(site, [recent, commits - recent])
  const { memoryId } = await lastMemory(site)
  if (near === undefined || far === undefined) throw new RangeError('The history is too short')
  return [
    ['open and close', { type: 'open' }],
    ['the first question about the history', { type: 'versions', memoryId }],
    ['the first search', { type: 'search', query: 'trust' }],
    [`${digits(created)} new memories, packed`, { type: 'create', memories: created }],
    ['compact', { type: 'compact' }],
    ['verify', { type: 'verify' }],
    [`rollback over ${digits(recent)} changes`, { type: 'rollback', commit: near.commit }],
    ['undo of a session', { type: 'undo', session: intruder }],
    [`redaction ${digits(recent)} commits back`, redact(near.versionId)],
    [`redaction ${digits(commits - recent)} commits back`, redact(far.versionId)],
  ]
}

function redact(versionId: string): Task {
  return { type: 'redact', versionId, objectsFile: '/dev/null' }
}

function runOn({ history, identityFile }: Site, what: string, task: Task): Stall {
  const { work, longestDelay: longest } = runTask(history.places, identityFile, task)
  return { what, work, longest }
}

/** Two clones that have each changed memories of their own, and some that the other has changed. */
async function mergeClones(site: Site): Promise<readonly Stall[]> {
  const { apart } = site.context.scale
  const [path] = hostKinds
  if (path === undefined) throw new RangeError('There is no host')
  const directory = besideStore(site, 'host')
  mkdirSync(directory)
  const host = await path.start(directory)
  const first = cloneOf(site)
  const second = await secondClone(site)
  const url = host.addRepository('remote.git')
  const sync = (clone: Clone, what: string): Stall => {
    const { work, longestDelay: longest } = syncClone(clone, host)
    return { what, work, longest }
  }
  await addRemote(first, url)
  const pushed = sync(first, 'first push')
  const { work, longestDelay: longest } = joinClone(second, host, url)
  const paths = site.history.notes.map((note) => note.path)
  await changeNotes(first, paths.slice(0, apart), (content) => `${content}one\n`)
  await changeNotes(second, paths.slice(apart / 2, apart * 1.5), (content) => `two\n${content}`)
  sync(second, 'push')
  const merged = sync(first, `merge of two clones after ${digits(apart)} changes each`)
  const taken = sync(second, 'taking over the merge')
  await host.close()
  return [pushed, { what: 'first join', work, longest }, merged, taken]
}
