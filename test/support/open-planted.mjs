// Opens a store, reads, writes and packs while one of its files after another is something else:
// `node open-planted.mjs <directory> <state directory> <identity file> <kind>`. Prints the name of
// each before it tries, and then the code or `accepted`: a try that hangs shows as the last name.
// Loads the compiled product.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { filesBelow } from '../../dist/disk/file-sweep.js'
import { systemDisk } from '../../dist/disk/system-disk.js'
import { withIdentityFile } from '../../dist/home/identity-file.js'
import { openStore, parseIdentity } from '../../dist/index.js'

const [, , directory, stateDirectory, identityFile, kind] = argv
const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
const author = { actor: { type: 'session', id: 'agent-1' } }

/** Names that a store reads if they exist. */
const others = [
  'packed-refs',
  'shallow',
  'info/grafts',
  'objects/info/alternates',
  'objects/info/commit-graph',
  `objects/00/${'0'.repeat(38)}`,
  'refs/heads/main.lock',
  'refs/remotes/origin/main',
  'logs/refs/heads/main',
  'ORIG_HEAD',
  'gitlocket/lock',
  'gitlocket/checkpoint.lock',
  'gitlocket/purge-0123456789abcdef',
  `gitlocket/owner.${'0'.repeat(32)}`,
  `gitlocket/owner.${'0'.repeat(32)}.sock`,
]
const directories = ['gitlocket', 'gitlocket/cache', 'objects/pack', 'refs/heads', 'refs']

const paths = [
  ...filesBelow(systemDisk, directory),
  ...filesBelow(systemDisk, stateDirectory),
  ...[...others, ...directories].map((name) => join(directory, name)),
  identityFile,
]
for (const path of paths) {
  writeSync(1, `${path}\n`)
  const kept = `${stateDirectory}.kept`
  const exists = systemDisk.stat(path) !== undefined
  if (exists) renameSync(path, kept)
  mkdirSync(dirname(path), { recursive: true })
  const undo = await plant(path)
  writeSync(1, `${await verdict()}\n`)
  undo()
  rmSync(path, { recursive: true, force: true })
  if (exists) renameSync(kept, path)
}

async function plant(path) {
  if (kind === 'pipe') execFileSync('mkfifo', [path])
  else if (kind === 'device') symlinkSync('/dev/zero', path)
  else {
    const server = createServer()
    // A socket's path is short.
    const short = `${stateDirectory}.s`
    await new Promise((resolve) => server.listen(short, resolve))
    renameSync(short, path)
    return () => server.close()
  }
  return () => undefined
}

async function verdict() {
  try {
    await withIdentityFile({ identityFile, identityIsNamed: false }, async () => undefined)
    const store = await openStore({ directory, stateDirectory, identity })
    try {
      await store.history.versions()
      await store.as(author).write('/more.md', String(Math.random()))
      await store.maintenance.checkpoint()
      await store.maintenance.unreachable()
    } finally {
      await store.close()
    }
    return 'accepted'
  } catch (error) {
    return error.code ?? String(error)
  }
}
