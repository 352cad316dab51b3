// The guard on the command line: on in a new store; only an owner lets a text through, by `guard
// allow`.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { pairsOfMachines } from './cli-machines.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

const privateKey = [
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW',
  '-----END OPENSSH PRIVATE KEY-----',
  '',
].join('\n')

describe('the guard', () => {
  test(
    'refuses a text with a secret, by line and without the text, until it is off',
    { tags: 'slow' },
    async () => {
      const home = newHome()
      await home.ok('init')
      expect(await home.ok('status', '--verbose')).toMatch(/^Guard {6}on/m)
      expect((await home.json('verify'))['commits']).toBe(1)
      const words = ['create', 'a.md', '-']
      const { stdout, stderr, exitCode } = await home.run(words, { input: `notes\n${privateKey}` })
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 6 })
      expect(stderr).toMatch(/private key/i)
      expect(stderr).not.toContain('b3BlbnNzaC1')
      expect(await home.ok('ls')).toBe('')
      await home.ok('create', 'b.md', '--text', 'harmless')
      expect(await home.ok('settings', '--guard', 'off')).toContain('Guard          off\n')
      expect((await home.run(words, { input: privateKey })).exitCode).toBe(0)
      expect(await home.json('settings', '--guard', 'on')).toMatchObject({
        guard: true,
        metadata: { gitlocket_guard: 'secrets' },
      })
    },
  )
})

test('init --no-guard makes a store that lets secrets through', { tags: 'slow' }, async () => {
  const home = newHome()
  await home.ok('init', '--no-guard')
  expect(await home.ok('status')).toContain('The guard is off')
  const made = await home.run(['create', 'a.md', '-'], { input: privateKey })
  expect(made.exitCode).toBe(0)
})

describe('guard allow', () => {
  const newPair = pairsOfMachines()
  const refused = { exitCode: 6, stdout: '' }
  const text = `notes\n${privateKey}`
  const sha256 = createHash('sha256').update(text).digest('hex')

  /** With the text in the file `text`, and one that differs in a byte in `other`. */
  async function newHomeWithTexts(): Promise<Home> {
    const home = await newHomeWithStore()
    home.file('text', text)
    home.file('other', `${text}\n`)
    return home
  }

  test('lets through the text that the refusal named, and no other', async () => {
    const home = await newHomeWithTexts()
    const words = ['create', 'a.md', '--file', 'text']
    const { stderr, ...ended } = await home.call(words)
    expect(ended).toEqual(refused)
    expect(stderr).toContain(`: gitlocket guard allow ${sha256}\n`)
    const { error } = JSON.parse((await home.call([...words, '--json'])).stderr)
    expect(error).toMatchObject({ code: 'sensitive_content', lines: [2], sha256 })
    expect(await home.ok('guard', 'allow', sha256)).toBe(
      `The guard now lets the text ${sha256} through\n`,
    )
    expect(await home.ok('guard', 'list')).toBe(`${sha256}\n`)
    await home.ok(...words)
    expect(await home.ok('cat', 'a.md')).toBe(text)
    expect(await home.call(['create', 'b.md', '--file', 'other'])).toMatchObject(refused)
    expect(await home.call(['create', 'b.md', '--text', privateKey])).toMatchObject(refused)
    expect(await home.json('settings')).toMatchObject({ guard: true })
    await home.ok('verify')
  })

  test('holds for no reason and no path', async () => {
    const home = await newHomeWithStore()
    const token = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
    home.file('token', token)
    await home.ok('guard', 'allow', '--file', 'token')
    await home.ok('create', 'a.md', '--file', 'token')
    const inReason = ['create', 'b.md', '--text', 'b', '--reason', token]
    expect(await home.call(inReason)).toMatchObject(refused)
    const inPath = await home.call(['create', `${token}.md`, '--file', 'token', '--json'])
    expect(inPath).toMatchObject(refused)
    expect(JSON.parse(inPath.stderr).error.sha256).toBeUndefined()
  })

  test('is taken back by guard revoke, and written texts are kept', async () => {
    const home = await newHomeWithTexts()
    await home.ok('guard', 'allow', sha256.toUpperCase())
    await home.ok('create', 'a.md', '--file', 'text')
    expect((await home.call(['guard', 'revoke', sha256.slice(0, 7)])).exitCode).toBe(2)
    const answer = await home.json('guard', 'revoke', sha256.slice(0, 8))
    expect(answer).toMatchObject({ changed: true, sha256, allowed: false })
    await home.ok('guard', 'allow', sha256)
    await home.ok('guard', 'revoke', '--file', 'text')
    const listed = { stdout: '', stderr: 'The guard lets no text through\n' }
    expect(await home.call(['guard', 'list'])).toMatchObject(listed)
    expect(await home.json('guard', 'revoke', sha256)).toMatchObject({ changed: false })
    expect(await home.call(['create', 'b.md', '--file', 'text'])).toMatchObject(refused)
    await home.ok('write', 'a.md', '--text', `${text}more`)
  })

  test.each([[[]], [['abc']], [[`${sha256}0`]], [[sha256, '--file', 'text']]])(
    'refuses %j as the name of a text',
    async (words) => {
      const home = await newHomeWithTexts()
      expect((await home.call(['guard', 'allow', ...words])).exitCode).toBe(2)
      expect(await home.json('guard', 'list')).toMatchObject({ allowed: [] })
    },
  )

  test('holds on the other machines of the store', { tags: 'slow' }, async () => {
    const { first, second } = await newPair()
    second.file('text', text)
    const words = ['create', 'a.md', '--file', 'text']
    expect(await second.call(words)).toMatchObject(refused)
    await first.ok('guard', 'allow', sha256)
    await first.ok('sync')
    expect(await second.call(words)).toMatchObject(refused)
    await second.ok('sync')
    await second.ok(...words)
    await second.ok('guard', 'revoke', sha256)
    await second.ok('sync')
    await first.ok('sync')
    expect(await first.json('guard', 'list')).toMatchObject({ allowed: [] })
    expect(await first.ok('cat', 'a.md')).toBe(text)
  })
})
