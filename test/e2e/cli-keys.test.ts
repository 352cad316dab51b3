// Keys on the command line: passphrases and recovery keys come from files or a terminal, a second
// machine joins, and git checks what the store signed.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseId } from '../../src/format/id.ts'
import { decodeKeyring } from '../../src/format/keyring.ts'
import { formatRecoveryKey, parseOperatorSecret } from '../../src/keys/identity.ts'
import { operatorRecoveryKey } from '../../src/keys/recovery.ts'
import { sample } from '../support/seed.ts'
import { git, gitBytes } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { homeWithPassphrase, passphrase } from './cli-machines.ts'
import { type Ended, ended, type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

/** Types each answer once its question is there. Returns all that the terminal showed. */
async function typing(home: Home, words: string[], answers: [string, string][]): Promise<Ended> {
  const script = `
import json, os, pty, sys
answers = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
  os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while True:
  try:
      data = os.read(terminal, 4096)
  except OSError:
      break
  if not data:
      break
  seen += data
  sys.stdout.buffer.write(data)
  if answers and seen.endswith(answers[0][0].encode()):
      os.write(terminal, answers.pop(0)[1].encode())
      seen = b''
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`
  const args = ['-c', script, JSON.stringify(answers), process.execPath, mainFile, ...words]
  const env = home.environment({ TERM: 'xterm' })
  return ended(spawn('python3', args, { cwd: home.directory, env }))
}

describe('another machine', () => {
  test('joins with the passphrase as a writer', { tags: 'slow' }, async () => {
    const home = await homeWithPassphrase()
    const env = { GITLOCKET_PASSPHRASE_FILE: join(home.directory, 'old') }
    const other = newHome()
    const made = await other.run(['recover', '--store', home.store, '--json'], { env })
    expect(JSON.parse(made.stdout)).toMatchObject({ enrolled: true, role: 'writer' })
    await other.ok('create', 'a.md', '--text', 'a', '--store', home.store)
    expect(await home.ok('cat', 'a.md')).toBe('a')
    const again = await other.ok('recover', '--store', home.store)
    expect(again).toMatch(
      /^This machine is a device of memstore_\w+ already; nothing was changed\n/,
    )
  })

  test('joins with the recovery key as an owner, however it is written', async () => {
    const home = newHome()
    const { recovery_key: key } = await home.json('init')
    const other = newHome()
    const spaced = String(key).toLowerCase().slice(6).replaceAll('-', ' ')
    const env = { GITLOCKET_RECOVERY_KEY_FILE: other.file('key', ` glkr1-${spaced}\n`) }
    const made = await other.call(['recover', '--store', home.store, '--json'], env)
    expect(JSON.parse(made.stdout)).toMatchObject({ enrolled: true, role: 'owner' })
  })

  test.each(
    sample<[name: string, variable: string, content: string, exitCode: number]>(
      [
        ['a wrong recovery key', 'GITLOCKET_RECOVERY_KEY_FILE', `GLKR1${'-00000000'.repeat(8)}`, 8],
        ['a passphrase where there is none', 'GITLOCKET_PASSPHRASE_FILE', passphrase, 8],
        ['an empty file', 'GITLOCKET_PASSPHRASE_FILE', '\n', 2],
        ['two lines', 'GITLOCKET_PASSPHRASE_FILE', 'first line\nsecond line\n', 2],
      ],
      2,
    ),
  )('%s exits with the code, and leaves no identity', async (_, variable, content, exitCode) => {
    const home = await newHomeWithStore()
    const other = newHome()
    const env = { [variable]: other.file('secret', content) }
    const result = await other.call(['recover', '--store', home.store], env)
    expect(result.exitCode).toBe(exitCode)
    for (const line of content.trim().split('\n')) {
      expect(result.stderr).not.toContain(line === '' ? 'nothing' : line)
    }
    expect(existsSync(other.identityFile)).toBe(false)
  })

  test(
    'off a terminal nothing is asked: the error names the variables',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const other = newHome()
      const asked = await other.run(['recover', '--store', home.store], {
        input: `${passphrase}\n`,
      })
      expect(asked.exitCode).toBe(2)
      expect(asked.stderr).toMatch(/GITLOCKET_PASSPHRASE_FILE or GITLOCKET_RECOVERY_KEY_FILE/)
      const passwd = await home.run(['key', 'passwd'], { input: `${passphrase}\n` })
      expect(passwd.exitCode).toBe(2)
      expect(passwd.stderr).toMatch(/GITLOCKET_NEW_PASSPHRASE_FILE/)
    },
  )
})

describe('key passwd', () => {
  test(
    'opens with the new passphrase, not with the old one, and with none after --remove',
    { tags: 'slow' },
    async () => {
      const home = await homeWithPassphrase()
      const old = { GITLOCKET_PASSPHRASE_FILE: join(home.directory, 'old') }
      const changed = home.file('new', 'another passphrase\n')
      const env = { GITLOCKET_NEW_PASSPHRASE_FILE: changed }
      const answer = await home.call(['key', 'passwd'], env)
      expect(answer.stdout).toMatch(/^The passphrase was set\n\nNew keys/)
      const joining = (file: Readonly<Record<string, string>>): Promise<Ended> =>
        newHome().call(['recover', '--store', home.store], file)
      expect((await joining(old)).exitCode).toBe(8)
      expect((await joining({ GITLOCKET_PASSPHRASE_FILE: changed })).exitCode).toBe(0)
      expect(await home.ok('key', 'passwd', '--remove', '--yes')).toMatch(
        /^The passphrase was removed\n/,
      )
      expect((await joining({ GITLOCKET_PASSPHRASE_FILE: changed })).exitCode).toBe(8)
      expect(await home.json('status')).toMatchObject({ epochs: 3 })
      await home.ok('verify')
    },
  )

  test('--remove without a passphrase reports that, asks nothing and writes nothing', async () => {
    const home = await newHomeWithStore()
    expect(await home.ok('key', 'passwd', '--remove')).toBe('There is no passphrase\n')
    const json = await home.json('key', 'passwd', '--remove', '--yes')
    expect(json).toMatchObject({ passphrase: false, commit: null })
    expect(await home.json('status')).toMatchObject({ epochs: 1, commits: 1 })
  })

  test('a short one is refused and nothing changes', async () => {
    const home = await newHomeWithStore()
    const env = { GITLOCKET_NEW_PASSPHRASE_FILE: home.file('new', 'short\n') }
    const result = await home.call(['key', 'passwd'], env)
    expect(result.exitCode).toBe(2)
    expect(result.stderr).toMatch(/at least 8 characters/)
    expect(await home.json('status')).toMatchObject({ epochs: 1, commits: 1 })
  })

  test('init refuses a short one before it makes anything', async () => {
    const home = newHome()
    const env = { GITLOCKET_PASSPHRASE_FILE: home.file('new', 'short\n') }
    expect((await home.call(['init'], env)).exitCode).toBe(2)
    expect([existsSync(home.identityFile), existsSync(home.store)]).toEqual([false, false])
    expect((await home.call(['init', '--no-passphrase'], env)).exitCode).toBe(0)
  })
})

describe('key show', () => {
  test('shows public keys, never the secret', async () => {
    const home = await newHomeWithStore()
    const text = await home.ok('key', 'show')
    const json = await home.json('key', 'show')
    const secret = /GITLOCKET-IDENTITY-1-(\w+)/.exec(readFileSync(home.identityFile, 'utf8'))?.[1]
    expect(text).toContain(`Fingerprint     ${String(json['device_id'])}\n`)
    expect(json).toMatchObject({ role: 'owner', signing_key: { type: 'ed25519' } })
    expect(text + JSON.stringify(json)).not.toContain(secret?.slice(0, 20))
  })

  test('works without a store', async () => {
    const home = await newHomeWithStore()
    const json = await home.json('key', 'show', '--store', 'nowhere')
    expect(json).toMatchObject({ memory_store_id: null, role: null })
  })

  const ssh = requires('ssh-keygen')
  const stockGit = requires('git')
  test.skipIf(ssh.missing || stockGit.missing)(
    `git verifies every commit with --allowed-signers, all epochs${ssh.note}${stockGit.note}`,
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      await home.ok('key', 'rotate')
      await home.ok('rm', 'a.md')
      const signers = home.file('signers', await home.ok('key', 'show', '--allowed-signers'))
      expect(readFileSync(signers, 'utf8').trim().split('\n')).toHaveLength(2)
      const commits = git(['rev-list', 'main'], home.store).trim().split('\n')
      expect(commits).toHaveLength(4)
      git(['-c', `gpg.ssh.allowedSignersFile=${signers}`, 'verify-commit', ...commits], home.store)
      git(['fsck', '--strict'], home.store)
    },
  )
})

test('init writes the recovery key to a new file of the owner alone', async () => {
  const home = newHome()
  const taken = home.file('taken', 'mine')
  const refused = await home.call(['init', '--save-recovery-key', taken])
  expect([refused.exitCode, existsSync(home.store)]).toEqual([4, false])
  expect(readFileSync(taken, 'utf8')).toBe('mine')
  const file = join(home.directory, 'recovery.txt')
  const { stdout, exitCode } = await home.call(['init', '--save-recovery-key', file])
  const key = readFileSync(file, 'utf8').trim()
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`It is in ${file}`)])
  expect(stdout).not.toContain(key)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const other = newHome()
  const env = { GITLOCKET_RECOVERY_KEY_FILE: file }
  const { stdout: joined } = await other.call(['recover', '--store', home.store, '--json'], env)
  expect(JSON.parse(joined)).toMatchObject({ role: 'owner' })
})

describe('on a terminal', () => {
  const python = requires('python3')

  test.skipIf(python.missing)(
    `init asks for a passphrase twice and does not show it${python.note}`,
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const { stdout, exitCode } = await typing(
        home,
        ['init'],
        [
          ['New passphrase (at least 8 characters; empty for none): ', `${passphrase}\r`],
          ['The same again: ', `${passphrase}\r`],
        ],
      )
      expect(exitCode).toBe(0)
      expect(stdout).toContain('Passphrase   set')
      expect(stdout).not.toContain(passphrase)
      const other = newHome()
      const joined = await typing(
        other,
        ['recover', '--store', home.store],
        [['Passphrase or recovery key: ', `${passphrase}\r`]],
      )
      expect(joined.stdout).toContain('This machine is now a device')
    },
  )

  test.skipIf(python.missing)(
    `three mistakes of either kind, and Ctrl-C, make nothing${python.note}`,
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const question = 'New passphrase (at least 8 characters; empty for none): '
      const differ = await typing(
        home,
        ['init'],
        [1, 2, 3].flatMap((): [string, string][] => [
          [question, `${passphrase}\r`],
          ['The same again: ', 'other\r'],
        ]),
      )
      expect(differ).toMatchObject({ exitCode: 2 })
      expect(differ.stdout).toContain('The two inputs differ')
      const thrice = [1, 2, 3].map((): [string, string] => [question, 'short\r'])
      const short = await typing(home, ['init'], thrice)
      expect(short).toMatchObject({ exitCode: 2 })
      expect(short.stdout).toContain('A passphrase must have at least 8 characters')
      expect(short.stdout).not.toContain('The same again')
      const cancelled = await typing(home, ['init'], [[question, '\u0003']])
      expect(cancelled.exitCode).toBe(130)
      expect([existsSync(home.identityFile), existsSync(home.store)]).toEqual([false, false])
    },
  )

  test.skipIf(python.missing)(
    `a mistyped passphrase may be typed again${python.note}`,
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const question = 'New passphrase (at least 8 characters; empty for none): '
      const { exitCode, stdout } = await typing(
        home,
        ['init'],
        [
          [question, 'short\r'],
          [question, `${passphrase}\r`],
          ['The same again: ', 'other\r'],
          [question, `${passphrase}\r`],
          ['The same again: ', `${passphrase}\r`],
        ],
      )
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Passphrase   set')])
      expect(stdout).toContain('A passphrase lets your other machines join')
      expect(stdout).toContain('The two inputs differ. Try again.')
    },
  )

  test.skipIf(python.missing)(
    `control characters of a memory are shown, not obeyed${python.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.run(['create', 'a', '-'], { input: '\u001b]0;evil\u0007\n' })
      const { stdout } = await typing(home, ['cat', 'a'], [])
      expect(stdout).toBe('‹U+001B›]0;evil‹U+0007›\r\n')
    },
  )
})

describe('Ctrl-C', () => {
  test(
    'during an import ends with 130, and no memory is half there',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      for (let index = 0; index < 300; index += 1) home.file(`in/${index}.md`, `${index}\n`)
      const child = home.start(['import', 'in'])
      const end = ended(child)
      setTimeout(() => child.kill('SIGINT'), 400)
      const { exitCode } = await end
      expect([0, 130]).toContain(exitCode)
      const { commits } = await home.json('verify')
      const listed = (await home.ok('ls')).split('\n').filter((name) => name !== '')
      expect(commits).toBe(1 + listed.length)
      await home.ok('import', 'in', '--on-conflict', 'skip')
      expect((await home.ok('ls')).trim().split('\n')).toHaveLength(300)
      expect(existsSync(join(home.store, 'gitlocket/lock'))).toBe(false)
    },
  )
})

describe('key rotate, quota and operator', () => {
  test('rotate begins an epoch and seals memories again', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    const answer = await home.ok('key', 'rotate', '--reseal')
    expect(answer).toContain('1 live memory and the settings were sealed again under it.')
    expect(await home.json('key', 'rotate')).toMatchObject({ epochs: 3, resealed: 0 })
    expect(await home.ok('cat', 'a.md')).toBe('a')
    await home.ok('verify')
  })

  test('quota is a number of devices', async () => {
    const home = await newHomeWithStore()
    expect(await home.json('key', 'quota', '5')).toMatchObject({ quota: 5 })
    const { exitCode, stderr } = await home.call(['key', 'quota', 'many'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('a number of devices from 0 to 250')
  })

  test('operator makes a secret that recovers stores made with it', { tags: 'slow' }, async () => {
    const home = newHome()
    const secret = String((await home.json('key', 'operator'))['operator_secret'])
    expect(secret).toMatch(/^GLKO1-(?:\w{7}-){7}\w{7}$/)
    const env = { GITLOCKET_OPERATOR_SECRET_FILE: home.file('operator', `${secret}\n`) }
    const made = await home.call(['init'], env)
    expect(made.stdout).toContain('The operator secret recovers it')
    expect(made.stdout).not.toContain('GLKR1-')
    const other = newHome()
    const joined = await other.call(['recover', '--store', home.store, '--json'], env)
    expect(JSON.parse(joined.stdout)).toMatchObject({ enrolled: true, role: 'owner' })
  })

  test(
    'a leaked key of an operator is removed, and the next one recovers',
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const secret = String((await home.json('key', 'operator'))['operator_secret'])
      const env = { GITLOCKET_OPERATOR_SECRET_FILE: home.file('operator', `${secret}\n`) }
      const made = await home.call(['init', '--json'], env)
      const storeId = parseId('store', String(JSON.parse(made.stdout)['memory_store_id']))
      const keyring = decodeKeyring(gitBytes(['cat-file', 'blob', 'main:keyring'], home.store))
      const keys = [0, 1].map((counter) => {
        const key = operatorRecoveryKey(keyring, parseOperatorSecret(secret), counter)
        const file = home.file(`key ${counter}`, `${formatRecoveryKey(storeId, key)}\n`)
        return { GITLOCKET_RECOVERY_KEY_FILE: file }
      })
      const recovered = async (
        other: Readonly<Record<string, string>> = {},
      ): Promise<number | null> =>
        (await newHome().call(['recover', '--store', home.store], other)).exitCode
      expect(await recovered(keys[0])).toBe(0)
      await home.ok('key', 'recovery', '--yes')
      expect([await recovered(keys[0]), await recovered(env)]).toEqual([8, 8])
      const again = await home.call(['key', 'recovery', '--yes'], env)
      expect(again.stdout).toContain('The operator secret recovers this store from now on')
      expect([await recovered(keys[0]), await recovered(keys[1])]).toEqual([8, 0])
      expect(await recovered(env)).toBe(0)
      await home.ok('verify')
    },
  )
})
