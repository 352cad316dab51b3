// Behaviour on a terminal only: the pager, colours, relative times, and prompts.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { sample } from '../support/seed.ts'
import { copiesOf, type Home, newHome, sharedHome } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

async function headOf(home: Home): Promise<unknown> {
  return (await home.json('status'))['head']
}

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  const home = sharedHome()
  beforeAll(async () => {
    await home.ok('init')
    await home.ok('create', 'a.md', '--text', '\u001b[31mone\n')
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two', '--session', 's1')
  })

  test(
    'log uses the pager, which gets the text through a pipe and writes no file',
    { tags: 'slow' },
    () => {
      const script = 'echo "$LESSHISTFILE $LESSSECURE $LESS" > pager-saw; cat >> pager-saw'
      const { screen, exitCode } = onTerminal(home, ['log'], { env: { GITLOCKET_PAGER: script } })
      expect({ screen, exitCode }).toEqual({ screen: '', exitCode: 0 })
      const saw = readFileSync(join(home.directory, 'pager-saw'), 'utf8')
      expect(saw.startsWith('- 1 FRX\n\u001b[33mversion memver_')).toBe(true)
      expect(saw).toMatch(/^Date: {5}\S+ \S+ \((?:.* ago|just now)\)$/m)
    },
  )

  test.each(
    sample(
      [
        ['GITLOCKET_PAGER before PAGER', { GITLOCKET_PAGER: 'cat > first', PAGER: 'cat > second' }],
        ['PAGER', { PAGER: 'cat > first' }],
      ],
      2,
    ),
  )('%s says which pager', { tags: 'slow' }, (_, env) => {
    onTerminal(home, ['log', '--oneline'], { env })
    expect(readFileSync(join(home.directory, 'first'), 'utf8')).toContain('/a.md')
    expect(existsSync(join(home.directory, 'second'))).toBe(false)
  })

  test('closing the pager early succeeds; a missing pager fails', { tags: 'slow' }, () => {
    const early = onTerminal(home, ['log'], { env: { PAGER: 'head -n 1' } })
    expect(early.screen).toMatch(/^.\[33mversion memver_\w+.\[m\n$/)
    expect(early.exitCode).toBe(0)
    const none = onTerminal(home, ['log'], { env: { PAGER: 'no-such-pager' } })
    expect(none.screen).toMatch(/The pager "no-such-pager" could not be started\nhint: /)
    expect(none.exitCode).toBe(2)
  })

  test('times are local on a terminal, and in UTC elsewhere', { tags: 'slow' }, async () => {
    const env = { GITLOCKET_PAGER: 'cat', TZ: 'Asia/Kolkata' }
    const { screen } = onTerminal(home, ['log', '-n', '1'], { env })
    const [, local = ''] = /^Date: {5}(\S+ \S+) \(/m.exec(screen) ?? []
    expect(local).toMatch(/ \d\d:\d\d:\d\d\+05:30$/)
    const { stdout } = await home.run(['log', '-n', '1'], { env })
    const [, utc = ''] = /^Date: {5}(\S+Z)$/m.exec(stdout) ?? []
    expect(Date.parse(local.replace(' ', 'T'))).toBe(Math.floor(Date.parse(utc) / 1000) * 1000)
  })

  test('less leaves nothing behind', { tags: 'slow' }, () => {
    onTerminal(home, ['log', '--oneline'])
    expect(readdirSync(home.directory).filter((name) => name.startsWith('.less'))).toEqual([])
  })

  test(
    'escapes that an agent wrote are shown, between the colours of gitlocket',
    { tags: 'slow' },
    () => {
      const env = { PAGER: 'cat' }
      const { screen } = onTerminal(home, ['log', '-p', '--limit', '1'], { env })
      expect(screen).toContain('\u001b[31m-‹U+001B›[31mone\u001b[m\n')
      expect(screen).toContain('\u001b[32m+‹U+001B›[31mtwo\u001b[m\n')
      const plain = onTerminal(home, ['log', '-p'], { env: { ...env, NO_COLOR: '1' } })
      expect(plain.screen).not.toContain('\u001b')
      const never = onTerminal(home, ['log', '--color', 'never'], { env })
      expect(never.screen).not.toContain('\u001b')
    },
  )

  test('JSON is never paged', { tags: 'slow' }, () => {
    const { screen } = onTerminal(home, ['log', '--json'], { env: { PAGER: 'cat > paged' } })
    expect(JSON.parse(screen)).toMatchObject({ next_page: null })
    expect(existsSync(join(home.directory, 'paged'))).toBe(false)
  })
})

describe.skipIf(terminal.missing)(`prompts on a terminal${terminal.note}`, () => {
  const homeWithLeak = copiesOf(async (home) => {
    await home.ok('init')
    await home.ok('create', 'a.md', '--text', 'one', '--session', 's1')
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two', '--session', 's2')
  })

  test.each(
    sample(
      [
        ['y', 0, ''],
        ['n', 130, 'two'],
        ['', 130, 'two'],
        ['\u0003', 130, 'two'],
      ],
      2,
    ),
  )('rollback after %j exits with %d', { tags: 'slow' }, async (answer, exitCode, content) => {
    const home = await homeWithLeak()
    const typed = [['[y/N]', answer === '\u0003' ? answer : `${answer}\r`]] as const
    const ended = onTerminal(home, ['undo', '--actor', 'alice'], { typed })
    expect(ended.screen).toContain('/a.md  deleted')
    expect(ended.exitCode).toBe(exitCode)
    expect((await home.call(['cat', 'a.md'])).stdout).toBe(content)
  })

  test(
    'rollback does not ask with --yes, or when nothing would change',
    { tags: 'slow' },
    async () => {
      const home = await homeWithLeak()
      expect(onTerminal(home, ['rollback', '--to', '0s']).screen).toBe('Nothing has to change\n')
      expect(onTerminal(home, ['undo', '--actor', 'alice', '-y']).exitCode).toBe(0)
    },
  )

  test.each(
    sample(
      [
        ['1', 0],
        ['2', 130],
        ['y', 130],
        ['', 130],
      ],
      2,
    ),
  )(
    'redact goes on after the number of versions alone: %j exits with %d',
    { tags: 'slow' },
    async (text, code) => {
      const home = await homeWithLeak()
      const head = await headOf(home)
      const typed = [
        ['Why?', '4\r'],
        ['Type 1 to erase', `${text}\r`],
      ] as const
      const ended = onTerminal(home, ['redact', '--session', 's1'], { typed })
      expect(ended.exitCode).toBe(code)
      expect(ended.screen).toMatch(/^\/a.md {2}created {2}.* \w{8}\r?$/m)
      if (code !== 0) expect(ended.screen).toContain('nothing was changed')
      expect((await headOf(home)) === head).toBe(code !== 0)
      await home.ok('verify')
    },
  )

  test.each(
    sample(
      [
        ['o', '[redacted]', 0],
        ['d', '', 0],
        ['k', 'two', 0],
        ['x', 'two', 130],
      ],
      2,
    ),
  )(
    'redact of what a memory holds, after %j: %j',
    { tags: 'slow' },
    async (choice, content, exitCode) => {
      const home = await homeWithLeak()
      const typed = [
        ['[k]eep these versions?', `${choice}\r`],
        ['Why?', 'legal\r'],
        ['to erase permanently:', `${choice === 'k' ? 1 : 2}\r`],
      ] as const
      const ended = onTerminal(home, ['redact', '--memory', 'a.md'], { typed })
      expect(ended.exitCode).toBe(exitCode)
      expect((await home.call(['cat', 'a.md'])).stdout.trimEnd()).toBe(content)
      await home.ok('verify')
    },
  )

  test(
    'redact asks for the text unseen, and replaces just that first',
    { tags: 'slow' },
    async () => {
      const home = await homeWithLeak()
      await home.ok('write', 'b.md', '--text', 'a: s3cret\nb: kept s3cret\n')
      const typed = [
        ['Text to erase (hidden)', 's3cret\r'],
        ['(Enter)', '\r'],
        ['Why?', '\r'],
        ['Why?', 'other\r'],
        ['Type 1 to erase', '1\r'],
      ] as const
      const { screen, exitCode } = onTerminal(home, ['redact'], { typed })
      expect(exitCode).toBe(0)
      expect(screen).toContain('Found 2 times, in 1 version of 1 memory\n')
      expect(screen).not.toContain('s3cret')
      expect(await home.ok('cat', 'b.md')).toBe('a: [redacted]\nb: kept [redacted]\n')
      const { data } = JSON.parse(await home.ok('certificate', 'list', '--json'))
      expect(data[0].reason).toBe('unspecified')
      const nothing = onTerminal(home, ['redact'], { typed: [['(hidden)', '\r']] })
      expect(nothing.exitCode).toBe(130)
    },
  )

  test('redact asks for nothing where there is no store, and breaks lines between words', () => {
    const { screen, exitCode } = onTerminal(newHome(), ['redact'], { columns: 60 })
    expect(exitCode).toBe(8)
    expect(screen).not.toContain('Text to erase')
    expect(screen).toMatch(
      /^gitlocket: There is no store on this machine yet, and no\nidentity file at\n/,
    )
    expect(screen).toMatch(
      /^hint: `gitlocket init` creates a store;\n`gitlocket join <url>` gets /m,
    )
  })

  test('a pattern that is typed unseen is one, as it is in a pipe', { tags: 'slow' }, async () => {
    const home = await homeWithLeak()
    await home.ok('write', 'b.md', '--text', 'key 12345\n')
    const words = ['redact', '--matching-file', '-', '--dry-run']
    const { screen } = onTerminal(home, words, {
      typed: [['Pattern to erase (hidden)', 'key \\d+\r']],
    })
    expect(screen).toContain('/b.md')
    expect((await home.run(words, { input: 'key \\d+\n' })).stdout).toContain('/b.md')
  })
})
