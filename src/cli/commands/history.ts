// `log`, `show` and `diff`: the past, read from the verified history.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { StoreError } from '../../errors.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Version, VersionFilter } from '../../store/versions.ts'
import type { Answer, Input } from '../command.ts'
import { withStore } from '../context.ts'
import type { Context } from '../context.ts'
import { withProgress } from '../progress.ts'
import { storePath } from '../store-path.ts'
import { parseTime } from '../times.ts'
import { eachVersion, resolveVersion, versionLine, versionText } from '../versions-text.ts'
import { versionJson } from '../wire.ts'

/** Two texts that differ everywhere would take minutes to compare line by line. */
const DIFF_TIMEOUT_MS = 3000

export function log(context: Context, input: Input): Promise<Answer> {
  const filter = filterOf(context, input)
  const most = input.integer('limit', 1, 1_000_000_000) ?? Number.POSITIVE_INFINITY
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const full = input.flag('follow') ? await following(store, filter) : filter
    const versions: Version[] = []
    for await (const version of eachVersion(store, full, most)) versions.push(version)
    const now = context.environment.terminal.output ? context.clock() : undefined
    const text = input.flag('oneline')
      ? versions.map((version) => versionLine(version, now)).join('')
      : versions.map((version) => versionText(version, now)).join('\n')
    return { text, json: { versions: versions.map(versionJson) } }
  })
}

export function show(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const version = await store.version(await resolveVersion(store, input.argument(0)))
    const now = context.environment.terminal.output ? context.clock() : undefined
    const { content } = version
    const text = content === undefined ? '' : `\n${withFinalNewline(content)}`
    return {
      text: versionText(version, now) + text,
      json: { ...versionJson(version), content: content ?? null },
    }
  })
}

export function diff(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const first = await store.version(await resolveVersion(store, input.argument(0)))
    const second = input.findArgument(1)
    const [from, to] =
      second === undefined
        ? [await findBase(store, first), first]
        : [first, await store.version(await resolveVersion(store, second))]
    const patch = unifiedDiff(sideOf(from), sideOf(to))
    return {
      text: patch,
      json: {
        from: from === undefined ? null : versionJson(from),
        to: versionJson(to),
        diff: patch,
      },
    }
  })
}

type VersionWithContent = Awaited<ReturnType<MemoryStore['version']>>

interface Side {
  readonly name: string
  readonly versionId: string
  readonly content: string
}

/** The history is decrypted when it is first asked for; a long one takes a moment. */
async function loadHistory(context: Context, store: MemoryStore): Promise<void> {
  const { signal } = context.interrupts
  await withProgress(context, 'Reading the history', (progress) =>
    store.versions({ limit: 1 }, { progress, signal }),
  )
}

function filterOf(context: Context, input: Input): VersionFilter {
  const path = input.findArgument(0)
  const operation = input.text('operation')
  const time = (option: string): number | undefined => {
    const text = input.text(option)
    return text === undefined ? undefined : parseTime(option, text, context.clock())
  }
  return {
    path: path === undefined ? undefined : storePath(path),
    actorId: input.text('actor'),
    session: input.text('session'),
    operation: isOperation(operation) ? operation : undefined,
    since: time('since'),
    until: time('until'),
  }
}

function isOperation(text: string | undefined): text is 'created' | 'modified' | 'deleted' {
  return text === 'created' || text === 'modified' || text === 'deleted'
}

/** The memory that is at the path now, under whatever path it was before. */
async function following(store: MemoryStore, filter: VersionFilter): Promise<VersionFilter> {
  const { path, ...others } = filter
  const memory = path === undefined ? undefined : await store.read(path)
  if (memory !== undefined) return { ...others, memoryId: memory.memoryId }
  throw new StoreError('not_found', '--follow needs the path of a memory that exists')
}

async function findBase(
  store: MemoryStore,
  version: Version,
): Promise<VersionWithContent | undefined> {
  const { baseVersionId } = version
  return baseVersionId === undefined ? undefined : store.version(baseVersionId)
}

/** A deletion, and what was before a creation, count as an empty text. Throws `redacted`. */
function sideOf(version: VersionWithContent | undefined): Side {
  if (version?.redactedAt !== undefined) {
    throw new StoreError('redacted', 'One of the two versions was redacted')
  }
  const { content, versionId, path } = version ?? {}
  if (content === undefined || path === undefined || versionId === undefined) {
    return { name: '/dev/null', versionId: '', content: '' }
  }
  return { name: path, versionId, content }
}

function unifiedDiff(from: Side, to: Side): string {
  const patch = createTwoFilesPatch(
    from.name,
    to.name,
    from.content,
    to.content,
    from.versionId,
    to.versionId,
    { timeout: DIFF_TIMEOUT_MS, headerOptions: FILE_HEADERS_ONLY },
  )
  if (patch !== undefined) return patch
  throw new StoreError('too_many_lines', 'The two texts differ too much to compare line by line')
}

function withFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
