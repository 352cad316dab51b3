// A process with the library of one of two builds, which does one task and prints what it took.
// Started by quick.ts; the build is that of the directory that it is given.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Library from 'gitlocket'
import type * as Tool from 'gitlocket/anthropic'
import { changes, Commands } from './commands.ts'
import { median, timed } from './measure.ts'

/** `warm` leaves the caches as that build has them, and the remote as it is after a sync. */
export type QuickTask = 'commands' | 'warm' | 'verify' | 'sync' | 'redaction'

/** Given as JSON in the only argument. */
export interface QuickRequest {
  readonly build: string
  readonly task: QuickTask
  /** An empty directory, or one with the store, the state and the identity of a history. */
  readonly directory: string
}

/** Printed as JSON: milliseconds by the name of a row. */
export type QuickAnswer = Readonly<Record<string, number>>

const [memories, commands, back] = [300, 700, 500]
const author = { actor: { type: 'user', id: 'bench' } } as const

async function answer({ build, task, directory }: QuickRequest): Promise<QuickAnswer> {
  const load = (file: string) => import(pathToFileURL(join(build, 'dist', file)).href)
  const library: typeof Library = await load('index.js')
  const tool: typeof Tool = await load('anthropic/memory-tool.js')
  if (task === 'commands') return runCommands(library, tool, directory)
  const identity = await library.parseIdentity(readFileSync(join(directory, 'identity'), 'utf8'))
  const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
  const store = await library.openStore({ ...places, identity })
  const elapsed = await timedTask(store, task, directory)
  await store.close()
  return { [rows[task]]: elapsed }
}

const rows: Readonly<Record<Exclude<QuickTask, 'commands'>, string>> = {
  warm: 'warm',
  verify: 'verify, all commits',
  sync: 'push of one change by a fresh process',
  redaction: 'redaction of one version',
}

async function timedTask(
  store: Library.MemoryStore,
  task: Exclude<QuickTask, 'commands'>,
  directory: string,
): Promise<number> {
  const me = store.as(author)
  const access = { environment: { PATH: process.env['PATH'], HOME: directory } }
  if (task === 'verify') return timed(() => store.maintenance.verify())
  if (task === 'warm') {
    await store.history.versions({ limit: 1 })
    return timed(() => me.sync({ access }))
  }
  if (task === 'sync') {
    await me.apply([{ type: 'create', path: '/one', content: 'more\n' }])
    return timed(() => me.sync({ access }))
  }
  const versionId = await replacedVersion(store)
  return timed(() => me.redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' }))
}

/** The oldest of the newest versions whose memory has a later one. */
async function replacedVersion(store: Library.MemoryStore): Promise<string> {
  const { data: newest } = await store.history.versions({ limit: back })
  const seen = new Set<string>()
  let found: string | undefined
  for (const { memoryId, versionId } of newest) {
    if (seen.has(memoryId)) found = versionId
    seen.add(memoryId)
  }
  if (found === undefined) throw new Error('The history is too short')
  return found
}

async function runCommands(
  { createStore, generateIdentity }: typeof Library,
  { memoryToolHandlers }: typeof Tool,
  directory: string,
): Promise<QuickAnswer> {
  const identity = await generateIdentity()
  const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
  const { store } = await createStore({ ...places, identity })
  const handlers = memoryToolHandlers(store, { session: 'bench' })
  const list = new Commands()
  for (const { path, text } of list.fill(memories)) {
    await handlers.create({ command: 'create', path: `/memories/${path}`, file_text: text })
  }
  await store.maintenance.checkpoint()
  const before = process.cpuUsage()
  const [written, viewed]: [number[], number[]] = [[], []]
  for (let done = 0; done < commands; done += 1) {
    const command = list.next()
    const elapsed = await timed(() => handlers[command.command](command))
    ;(changes.includes(command.command) ? written : viewed).push(elapsed)
  }
  await store.maintenance.checkpoint()
  const { user, system } = process.cpuUsage(before)
  await store.close()
  return {
    'a change': median(written),
    'a change, processor time': (user + system) / 1000 / written.length,
    'a view': median(viewed),
  }
}

const request: QuickRequest = JSON.parse(process.argv[2] ?? '{}')
console.log(JSON.stringify(await answer(request)))
