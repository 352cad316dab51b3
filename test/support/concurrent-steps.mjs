// The work of one handle of a store while others do the same. A test calls `runSteps`, or starts
// `node concurrent-steps.mjs <directory> <state directory> <identity file> <name> <steps as JSON>`.
// A step starts before the one before it has ended. Prints the changes that the store has
// acknowledged, and those that it has refused.

import { readFileSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The number of steps that a handle runs at the same time. */
const LANES = 3
/** The number of writes in one batch. */
const AT_ONCE = 12

/**
 * Runs the steps with these names. `say` is called with `wrote` or `redacted` and a path, or with
 * `refused`, the step, the code and the stack.
 */
export async function runSteps(store, name, steps, say) {
  const does = stepsOf(store, name, say)
  const waiting = [...steps.entries()]
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, step] = next
      try {
        await does[step](index)
      } catch (error) {
        say('refused', step, error.code ?? 'internal', error.stack)
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** What each step does. */
function stepsOf(store, name, say) {
  const author = { actor: { type: 'session', id: name } }
  const create = async (path) => {
    await store.as(author).apply([{ type: 'create', path, content: `${name} wrote ${path}\n` }])
    say('wrote', path)
  }
  return {
    write: (index) => create(`/${name}/${index}.md`),
    batch: (index) =>
      Promise.all(Array.from({ length: AT_ONCE }, (_, n) => create(`/${name}/${index}-${n}.md`))),
    edit: async () => {
      const edit = { type: 'edit', path: '/shared.md', edit: (text) => `${text}${name}\n` }
      await store.as(author).apply([edit])
    },
    redact: async (index) => {
      const path = `/${name}/secret-${index}.md`
      await store.as(author).apply([{ type: 'create', path, content: 'a secret\n' }])
      const select = { path }
      await store.as(author).redact({ select, reason: 'leaked_secret', current: 'delete' })
      say('redacted', path)
    },
    restore: async (index) => {
      const path = `/${name}/back-${index}.md`
      const { versionIds } = await store
        .as(author)
        .apply([{ type: 'create', path, content: 'x\n' }])
      await store.as(author).apply([{ type: 'delete', path }])
      await store.as(author).restore({ memory: path, to: { versionId: versionIds[0] } })
      say('wrote', path)
    },
    sync: () => store.as(author).sync(),
    pull: () => store.as(author).sync({ only: 'pull' }),
    push: () => store.as(author).sync({ only: 'push' }),
    compact: () => store.maintenance.compact(),
    checkpoint: () => store.maintenance.checkpoint(),
    status: () => store.status(),
    versions: () => store.history.versions(),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { openStore, parseIdentity } = await import('../../dist/index.js')
  const [directory, stateDirectory, identityFile, name, steps] = process.argv.slice(2)
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ directory, stateDirectory, identity })
  await runSteps(store, name, JSON.parse(steps), print)
  await store.close()
}

/**
 * Synchronous: printed changes were acknowledged, even if the process dies in the next instruction.
 */
function print(...words) {
  writeSync(1, `${JSON.stringify(words)}\n`)
}
