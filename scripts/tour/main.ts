// `npm start`: the product in a few seconds, without prompts. An agent works in a temporary store;
// one session is poisoned, and its user undoes it and erases the key that it leaked; a second
// machine joins; git and the official SDK look at the result. Exits above 0 if anything differs.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process, { argv, execPath } from 'node:process'
import { createInterface } from 'node:readline'
import Anthropic from '@anthropic-ai/sdk'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  type MemoryStore,
  openStore,
} from 'gitlocket'
import { memoryTool } from 'gitlocket/anthropic'
import {
  check,
  commandLine,
  heading,
  isInstalled,
  Machine,
  print,
  printCommand,
} from './programs.ts'
import {
  conventions,
  friday,
  handover,
  leakedKey,
  monday,
  saturday,
  type Session,
} from './sessions.ts'

/** What Ines writes before the attack is found; it must survive. */
const later = {
  conventions: '- Staging is reset on Mondays at 04:00 UTC',
  handover: '04:30 backup of the database to the bucket',
}
const certificate = 'certificate.json'
const keyFile = 'leaked-key.txt'

process.stdout.on('error', () => process.exit())
try {
  await tour()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`\nThe tour stopped: ${message}\n`)
  process.exitCode = 1
}

async function tour(): Promise<void> {
  print('gitlocket keeps the memory of AI agents in an encrypted git repository. An agent works in')
  print('sessions. One of them is poisoned: it is undone, and the key that it leaked is erased. A')
  print('second machine joins, and the host sees none of it. The guard is off until it happened.')
  // It is kept, so that the reader can continue there.
  const machine = new Machine(mkdtempSync(join(tmpdir(), 'gitlocket-tour-')))
  const identity = await generateIdentity()
  writeFileSync(machine.identityFile, `${formatIdentity(identity)}\n`, { mode: 0o600 })
  const { directory, stateDirectory } = machine
  const places = { directory, stateDirectory, identity }
  const { store, recoveryKey } = await createStore({ ...places, refuseSecrets: false })
  await store.close()
  const withStore: WithStore = async (work) => {
    const opened = await openStore(places)
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  }
  for (const session of [monday, friday]) await replay(withStore, session)
  await undo(machine, withStore)
  const erased = redact(machine)
  machine.gitlocket(['settings', '--guard', 'on'], 0)
  await replay(withStore, saturday)
  await showSecondMachine(machine, recoveryKey, withStore)
  await showHostView(machine, erased, withStore)
  await withStore((opened) => showServer(machine, opened))
  showNext(machine)
}

/** Opens the store again each time, as another process would. */
type WithStore = <T>(work: (store: MemoryStore) => Promise<T> | T) => Promise<T>

async function replay(withStore: WithStore, { id, request, commands }: Session): Promise<void> {
  heading(`Session ${id}: ${request}`)
  await withStore(async (store) => {
    const tool = memoryTool(store, { session: id })
    for (const { input, refusal } of commands) {
      if (input.command !== 'view') print(`  ${input.command} ${input['path']}`)
      const error = await tool.run(input).then(() => undefined, String)
      const isExpected = refusal === undefined ? error === undefined : error?.includes(refusal)
      check(isExpected === true, `${input.command} ends as it should: ${error ?? refusal}`)
      if (refusal !== undefined) print(`    refused: ${refusal}`)
    }
  })
}

async function undo(machine: Machine, withStore: WithStore): Promise<void> {
  heading('Later, Ines writes into the same memories, and then questions a line')
  const insert = (path: string, line: string, text: string): string =>
    machine.gitlocket(['insert', path, '--line', line, '--text', text, '--actor', 'ines'], 0)
  insert(conventions, '2', later.conventions)
  insert(handover, '1', later.handover)
  machine.gitlocket(['blame', conventions], -3)
  heading('She undoes what that session wrote; what others wrote since then stays')
  machine.gitlocket(['rollback', '--session', friday.id, '--as', 'ines', '--yes'], 6)
  const [rules = '', notes = ''] = await withStore(async (store) => [
    (await store.read(conventions))?.content,
    (await store.read(handover))?.content,
  ])
  check(!`${rules}${notes}`.includes('paste.example'), 'its lines are removed')
  check(rules.includes(later.conventions) && notes.includes(later.handover), 'later lines stay')
}

/** No current version holds the key any more, but the history does. Returns the erased objects. */
function redact(machine: Machine): readonly string[] {
  heading('The key is still in the history: she erases it there, permanently')
  const file = join(machine.root, keyFile)
  writeFileSync(file, `${leakedKey}\n`, { mode: 0o600 })
  const what = ['--matching-file', keyFile, '--literal', '--reason-code', 'leaked_secret']
  const how = ['--certificate', certificate, '--as', 'ines', '--yes']
  machine.gitlocket(['redact', ...what, ...how], 1)
  rmSync(file)
  machine.gitlocket(['verify', '--absence', '--certificate', certificate], -1)
  return JSON.parse(readFileSync(join(machine.root, certificate), 'utf8')).object_ids
}

async function showSecondMachine(
  machine: Machine,
  recoveryKey: string,
  withStore: WithStore,
): Promise<void> {
  heading('A second machine: one remote, one secret')
  if (!isInstalled('git', '--version')) return print('Left out: git is not installed')
  const remote = join(machine.root, 'host.git')
  machine.git(['init', '--quiet', '--bare', '--initial-branch=main', remote])
  machine.gitlocket(['create', 'on-call.md', '--text', '- 02:10 disk of db-2 is full'], 0)
  machine.gitlocket(['remote', 'add', 'origin', remote], 1)
  machine.gitlocket(['sync'], 1)
  print('On the laptop, with the recovery key in a file and the address that `status` shows:')
  const root = join(machine.root, 'laptop')
  const recoveryKeyFile = join(root, 'recovery-key')
  const laptop = new Machine(root, { GITLOCKET_RECOVERY_KEY_FILE: recoveryKeyFile })
  writeFileSync(recoveryKeyFile, `${recoveryKey}\n`, { mode: 0o600 })
  const { address } = await withStore((store) => store.status())
  laptop.gitlocket(['join', `${remote}#${address}`, '--name', 'laptop'], 1)
  rmSync(recoveryKeyFile)
  heading('Both write while disconnected, and nothing is lost')
  const insert = ['insert', 'on-call.md', '--line', '1', '--text']
  laptop.gitlocket([...insert, '- 02:25 Ines moved the logs away'], 0)
  machine.gitlocket([...insert, '- 02:20 alert silenced for an hour'], 0)
  laptop.gitlocket(['sync'], 0)
  machine.gitlocket(['sync'], 4)
  machine.gitlocket(['cat', 'on-call.md'], 4)
  laptop.gitlocket(['sync'], 0)
  const [here, there] = [machine, laptop].map((one) => one.gitlocket(['cat', 'on-call.md'], 0))
  check(here === there, 'both machines have the same text')
  check(/02:25[^]*02:20/.test(here ?? ''), 'the text has the lines of both')
}

/** Stock git on the closed store. */
async function showHostView(
  machine: Machine,
  erased: readonly string[],
  withStore: WithStore,
): Promise<void> {
  heading('What the host of a remote sees: stock git on the same store, without a key')
  if (!isInstalled('git', '--version')) return print('Left out: git is not installed')
  if (!isInstalled('ssh-keygen', '-?')) print('Left out: signatures need ssh-keygen')
  else {
    const signers = await withStore((store) => store.maintenance.allowedSigners())
    writeFileSync(join(machine.root, 'allowed_signers'), signers)
    const setting = ['-c', 'gpg.ssh.allowedSignersFile=../allowed_signers']
    const marks = machine.git([...setting, 'log', '--format=%G?', 'main']).trim()
    check(/^G(?:\nG)*$/.test(marks), 'git accepts every signature')
    print(`git accepts the signature of each of the ${marks.split('\n').length} commits.`)
  }
  machine.git(['ls-tree', '-r', '--long', 'main'], 2)
  const [path = ''] = machine.git(['ls-tree', '-r', '--name-only', 'main', 'm/']).split('\n')
  const sealed = machine.git(['cat-file', 'blob', `main:${path}`])
  check(sealed.startsWith('GLK1'), 'a memory is an envelope')
  print(`  ${path} begins with GLK1; its ${sealed.length} characters are ciphertext`)
  const asked = machine.git(['cat-file', '--batch-check'], 0, `${erased.join('\n')}\n`)
  const missing = asked.split('\n').filter((line) => line.endsWith(' missing')).length
  check(missing === erased.length, 'git has no object that was erased')
  print(`git has none of the ${erased.length} objects that the certificate names.`)
}

/** The server on a free port, as a process of its own, and the official SDK as its client. */
async function showServer(machine: Machine, store: MemoryStore): Promise<void> {
  heading('A server for the official SDK: the Memory Stores API, with a store for each agent')
  const places = ['--data', 'server', '--state', 'server-state']
  const { token } = JSON.parse(machine.gitlocket(['api-key', 'create', '--json', ...places], 0))
  printCommand(['gitlocket', 'serve', '--port', '0'])
  const child = spawn(execPath, [commandLine, 'serve', '--port', '0', ...places], {
    cwd: machine.root,
    env: machine.environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  try {
    const ready = once(createInterface(child.stdout), 'line')
    const line = await Promise.race([ready.then(String), ended.then(() => '')])
    const [baseURL] = /https?:\/\/\S+/.exec(line) ?? []
    if (baseURL === undefined) throw new Error('The server did not start')
    print(`  Serving on ${baseURL}`)
    const { memoryStores } = new Anthropic({ apiKey: token, baseURL }).beta
    const { id } = await memoryStores.create({ name: 'tour' })
    for await (const { path, content = '' } of store.memories({ view: 'full' })) {
      await memoryStores.memories.create(id, { path, content })
    }
    print('> for await (const memory of client.beta.memoryStores.memories.list(id)) …')
    for await (const memory of memoryStores.memories.list(id)) print(`  ${memory.path}`)
    // `npm start -- serve`
    if (!argv.includes('serve')) return
    print('\nThe server runs until Ctrl-C. A client needs these two:')
    print(`  export ANTHROPIC_BASE_URL=${baseURL}\n  export ANTHROPIC_API_KEY=${token}`)
    await once(process, 'SIGINT')
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

function showNext({ root, variables }: Machine): void {
  heading('Continue with this store')
  for (const [name, value] of Object.entries(variables)) print(`  export ${name}=${value}`)
  print('  npx gitlocket ls')
  print('  npx gitlocket log --redacted')
  print(`  rm -r ${root}  # when you are done`)
}
