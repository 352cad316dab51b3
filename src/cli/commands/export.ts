// `export`: writes every memory as a plain file, so that plaintext is on a disk because the user
// asked for it: 0600 files in 0700 directories, never through a symbolic link, and no
// configuration of another program unless the user agrees (file-rule.ts).

import { closeSync, constants, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { utf8 } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { attempt, capitalised, makeDirectory } from '../../home/files.ts'
import type { MemoryReader } from '../../operations/operation.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../call/command.ts'
import { atOption } from '../call/options.ts'
import { judgeFiles, repositoryNames, type Verdict } from '../machine/file-rule.ts'
import {
  existingDirectory,
  existingFiles,
  exportFile,
  findCaseTwins,
  ignoresCase,
  isRealDirectory,
  realDirectory,
} from '../machine/memory-files.ts'
import { withReader } from '../store/past.ts'
import { withProgress } from '../terminal/progress.ts'
import { storePath } from '../text/store-path.ts'
import { countText, listOf } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'export',
    summary: 'Write memories as plain files into a directory',
    usage: '<directory>',
    options: {
      '--from <path>': 'Only memories at or below this path',
      '--force': 'Write into a directory that is not empty',
      ...atOption,
      '--with-config': 'Write configuration of other programs too, such as .envrc or .vscode',
      '--skip-unsafe': 'Leave out what cannot safely be a file, such as .git',
      '--dry-run': 'Show what would be done',
    },
    notes: [
      'Agents choose the names of memories. What git would take for a repository is never ' +
        'written, counted together with what the directory holds already. What programs run or ' +
        'load merely because the directory is entered, opened or pushed, which is any name that ' +
        'begins with a dot and a few others, needs --with-config; plain notes such as .draft.md ' +
        'do not. Without these options the command lists such names and writes nothing.',
    ],
    run: exportStore,
  },
]

async function exportStore(context: Context, input: Input): Promise<Answer> {
  const directory = resolve(input.argument(0))
  const from = storePath(input.text('from') ?? '/')
  checkTarget(directory, input.flag('force'))
  return withReader(context, input, async (store) => {
    const paths = await pathsBelow(store, from)
    const verdicts = findVerdicts(directory, paths)
    const isWritten = (path: string): boolean => {
      const kind = verdicts.get(path)?.kind
      return kind === undefined || (kind === 'configuration' && input.flag('with-config'))
    }
    const leftOut = paths.filter((path) => !isWritten(path))
    if (leftOut.length > 0 && !input.flag('skip-unsafe')) throw refuse(verdicts, leftOut)
    const written = paths.filter(isWritten)
    // The directory itself may be what a repository lacks.
    const isNothingLeft = written.length === 0 && leftOut.length > 0
    if (!input.flag('dry-run') && !isNothingLeft) {
      await writeAll(context, store, directory, written)
    }
    const count = countText(written.length, 'memory', 'memories')
    const verb = input.flag('dry-run') ? 'Would export' : 'Exported'
    const note = noteOf(
      leftOut,
      written.filter((path) => verdicts.has(path)),
    )
    return {
      text: `${verb} ${count} to ${directory}\n`,
      json: {
        directory,
        exported: written.length,
        left_out: leftOut,
        dry_run: input.flag('dry-run'),
      },
      note,
    }
  })
}

function noteOf(leftOut: readonly string[], configuration: readonly string[]): string {
  return [
    ...(leftOut.length === 0 ? [] : [`Left out:\n${listOf(leftOut)}`]),
    ...(configuration.length === 0
      ? []
      : [`Programs may run or load these by themselves:\n${listOf(configuration)}`]),
  ].join('\n')
}

function checkTarget(directory: string, force: boolean): void {
  const real = isRealDirectory(directory)
  if (real === undefined) return
  if (!real) throw new StoreError('path_conflict', `There is a file or a link at ${directory}`)
  const names = attempt('list a directory', directory, () => readdirSync(directory))
  if (names.length === 0 || force) return
  const hint = 'Name another one, or add --force to overwrite files of the same names'
  throw new CommandError('path_conflict', `The directory ${directory} is not empty`, hint)
}

/** Path → why it cannot be written as a file in this directory, or needs consent. */
function findVerdicts(directory: string, paths: readonly string[]): ReadonlyMap<string, Verdict> {
  const real = realDirectory(directory)
  const existing = existingFiles(real, paths, repositoryNames)
  const verdicts = judgeFiles({ directory: real, paths, existing })
  const isUnsafe = (path: string): boolean => verdicts.get(path)?.kind === 'unsafe'
  const twins = findCaseTwins(paths.filter((path) => !isUnsafe(path)))
  if (twins.length === 0 || !ignoresCase(existingDirectory(directory))) return verdicts
  const reason = 'differs from another by upper and lower case only'
  for (const path of twins) verdicts.set(path, { kind: 'unsafe', reason })
  return verdicts
}

async function pathsBelow(store: MemoryReader, from: string): Promise<readonly string[]> {
  const listing = await store.list(from)
  if (listing === undefined) {
    throw new StoreError('not_found', 'There is no such file or directory', {
      details: { path: from },
    })
  }
  return filesOf(listing)
}

function filesOf(listing: DirectoryListing): string[] {
  return listing.type === 'file' ? [listing.path] : listing.children.flatMap(filesOf)
}

async function writeAll(
  context: Context,
  store: MemoryReader,
  directory: string,
  paths: readonly string[],
): Promise<void> {
  attempt('make a directory', directory, () => makeDirectory(directory))
  await withProgress(context, 'Exporting', async ({ progress, signal }) => {
    for (const [index, path] of paths.entries()) {
      signal.throwIfAborted()
      const memory = await store.read(path)
      // A memory that was deleted since the listing is left out.
      if (memory !== undefined) writeMemory(directory, path, memory.content)
      progress(index + 1, paths.length)
    }
  })
}

function writeMemory(directory: string, path: string, content: string): void {
  const file = exportFile(directory, path)
  makeRealDirectories(directory, dirname(path))
  attempt('write a file', file, () => {
    // A symbolic link at this path is replaced, not followed.
    rmSync(file, { force: true })
    const { O_CREAT, O_EXCL, O_WRONLY } = constants
    const descriptor = openSync(file, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try {
      const bytes = utf8(content)
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
    } finally {
      closeSync(descriptor)
    }
  })
}

function makeRealDirectories(directory: string, below: string): void {
  let place = directory
  for (const segment of below.split('/').filter((part) => part !== '')) {
    place = join(place, segment)
    if (isRealDirectory(place) === false) {
      throw new StoreError('path_conflict', `There is a file or a link at ${place}`)
    }
    const made = place
    attempt('make a directory', made, () => makeDirectory(made))
  }
}

/** Names the memories that are left out. */
function refuse(verdicts: ReadonlyMap<string, Verdict>, leftOut: readonly string[]): CommandError {
  const of = (kind: Verdict['kind']): readonly string[] =>
    leftOut.filter((path) => verdicts.get(path)?.kind === kind)
  const unsafe = of('unsafe')
  const configuration = of('configuration')
  const lines = [...unsafe, ...configuration].map((path) => `${path} ${verdicts.get(path)?.reason}`)
  const cures = [
    ...(unsafe.length === 0 ? [] : ['rename those that cannot be files']),
    ...(configuration.length === 0
      ? []
      : ['read those that programs run or load, and add --with-config']),
  ]
  return new CommandError(
    'invalid_path',
    `Some memories are not safe as files; nothing was written:\n${listOf(lines)}`,
    `${capitalised(cures.join('; '))}; or leave them out with --skip-unsafe`,
    { facts: { unsafe, configuration } },
  )
}
