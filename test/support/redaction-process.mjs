// A process next to others that redact: `node redaction-process.mjs work|redact <directory> <state
// directory> <identity file> <name> <version ids…>`. `work` reads and writes in every way, and
// opens the store anew now and then, until its standard input ends; `redact` redacts the given
// versions one by one. Prints acknowledged changes, and ends with 1 at the first state
// that is neither the old state nor the new one.

import { readFileSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { openStore, parseIdentity } from '../../dist/index.js'

const [mode, directory, stateDirectory, identityFile, name, ...ids] = process.argv.slice(2)
const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
const author = { actor: { type: 'session', id: name } }
/** The versions that this process has seen redacted. */
const gone = new Set()
const input = { ended: false }

try {
  await (mode === 'redact' ? redact() : work())
} catch (error) {
  writeSync(2, `${error.code ?? ''} ${error.stack}\n`)
  process.exitCode = 1
}

async function redact() {
  const store = await open()
  say('opened it')
  for (const id of ids) {
    const select = { versionIds: [id] }
    await patiently(() => store.as(author).redact({ select, reason: 'leaked_secret' }))
    say(`redacted ${id}`)
  }
  await store.close()
}

async function work() {
  process.stdin.resume().on('end', () => (input.ended = true))
  let store = await open()
  for (let round = 0; !input.ended; round += 1) {
    const path = `/${name}/${round}.md`
    await patiently(() => store.as(author).apply([{ type: 'create', path, content: `${round}\n` }]))
    say(`wrote ${path}`)
    for (const id of ids) await look(store, id)
    await ask(store, round)
    if (round % 12 === 11) {
      await store.close()
      store = await open()
    }
    await delay(5)
  }
  await store.close()
}

/** A version is complete, with its original content, or redacted, and then permanently. */
async function look(store, id) {
  const { content, path, sha256, redactedAt } = await store.history.version(id)
  const isGone = content === undefined
  const whole = [path, sha256, redactedAt].map((part) => part === undefined).join()
  if (whole !== (isGone ? 'true,true,false' : 'false,false,true')) fail(id, 'is half redacted')
  if (!isGone && content !== `the secret of ${path}\n`) fail(id, 'has another content')
  if (!isGone && gone.has(id)) fail(id, 'is back')
  if (isGone && !gone.has(id)) say(`gone ${id}`)
  if (isGone) gone.add(id)
}

/** One of the long questions at a time; each has to hold on a history that is rewritten. */
async function ask(store, round) {
  const first = { versionId: ids[0] }
  const questions = [
    () => store.history.versions({ limit: 1000 }),
    () => store.maintenance.verify({ threads: 0 }),
    () => store.history.blame('/m/0.md'),
    () => store.history.diff(first),
    async () => (await store.at(first)).list('/'),
    () => store.history.planRedaction({ select: { matching: /secret/ }, reason: 'legal' }),
  ]
  await patiently(questions[round % questions.length])
}

function open() {
  return patiently(() => openStore({ directory, stateDirectory, identity }))
}

/** What another process is in the way of may be tried again; nothing else may. */
async function patiently(task) {
  for (;;) {
    try {
      return await task()
    } catch (error) {
      if (error.code !== 'locked') throw error
    }
  }
}

function fail(id, what) {
  throw new Error(`The version ${id} ${what}`)
}

/**
 * Synchronous: printed changes were acknowledged, even if the process dies in the next instruction.
 */
function say(line) {
  writeSync(1, `${line}\n`)
}
