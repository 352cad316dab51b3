// The RAM that a history needs, for a process of its own: prints bytes per version, and whether it
// is freed once it is unused. Arguments: the number of commits of one version each, and of
// memories.

import { createHash } from 'node:crypto'
import { History } from '../../dist/store/history/history.js'
import { HeldHistory } from '../../dist/store/session/held-history.js'

const [commits = 0, memories = 1] = process.argv.slice(2).map(Number)
const zeroId = '0'.repeat(32)

function hex(text, digits) {
  return createHash('sha256').update(text).digest('hex').slice(0, digits)
}

function oidAt(position) {
  return hex(`commit ${position}`, 40)
}

/** Bytes in use, the buffers outside of the heap included. */
function used() {
  for (let n = 0; n < 3; n += 1) globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function fill(history) {
  const newest = []
  for (let position = 0; position < commits; position += 1) {
    const memory = position % memories
    const versionId = hex(`version ${position}`, 32)
    const base = newest[memory] ?? zeroId
    newest[memory] = versionId
    const facts = { kind: 'change', time: position, deviceId: hex('device', 32) }
    const who = { actor: { type: 'session', id: 'a' }, session: `session ${position % 100}` }
    const oid = oidAt(position)
    const said = { reason: undefined, redacts: [], note: undefined }
    const row = {
      versionId,
      memoryId: hex(`memory ${memory}`, 32),
      operation: base === zeroId ? 'created' : 'modified',
      base,
      secondBase: zeroId,
      path: `/notes/${memory}.md`,
      size: 100,
      sha256: hex(`content ${position}`, 64),
    }
    history.append({ oid, height: position, ...facts, ...who, ...said }, [row])
  }
}

async function main() {
  const empty = used()
  const kept = { written: 0 }
  const held = new HeldHistory({
    begin: () => new History(),
    read: async (into) => fill(into),
    alone: (work) => work(),
    write: async (what) => {
      what.cachedCommits = what.commits.length
      kept.written += 1
    },
  })
  const ask = () => held.upTo(undefined, oidAt(commits - 1), {}, () => true)
  let history = await ask()
  const bytesPerVersion = (used() - empty) / commits
  const same = (await ask()) === history
  const known = new WeakRef(history)
  history = undefined
  used()
  // What weak references gave out lives until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve))
  used()
  const isHeld = held.now.commits.length === commits
  await held.letGo()
  await new Promise((resolve) => setImmediate(resolve))
  const left = (used() - empty) / commits
  const isGone = known.deref() === undefined
  const { rss } = process.memoryUsage()
  process.stdout.write(
    JSON.stringify({ bytesPerVersion, left, same, isHeld, isGone, rss, ...kept }),
  )
}

await main()
