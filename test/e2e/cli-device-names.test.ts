// Names of devices: where they come from, where they are shown, and who hears of a new device.

import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

/** The names in the list of devices. */
async function namesIn(home: Home): Promise<unknown> {
  const { data } = await home.json('device', 'list')
  return Array.from(Object.values(Object(data)), (device) => Object(device).name)
}

describe('the name of a device', () => {
  test('is the host name by default, and --name at init', async () => {
    const [plain, named] = [newHome(), newHome()]
    expect(await plain.ok('init')).toContain(`\n  Name         ${hostname()}\n`)
    expect(await namesIn(plain)).toEqual([hostname()])
    const made = await named.json('init', '--name', 'anna-laptop')
    expect(made['device_name']).toBe('anna-laptop')
    expect(await named.ok('init')).toContain('\n  Name         anna-laptop\n')
    expect(await namesIn(named)).toEqual(['anna-laptop'])
  })

  test('an invalid name is refused before anything is made', async () => {
    const home = newHome()
    for (const words of [['init'], ['device', 'card'], ['join', '/nowhere'], ['recover']]) {
      const { exitCode, stdout, stderr } = await home.call([...words, '--name', 'a\u202eb'])
      expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining('device name')])
    }
    expect((await home.call(['doctor', '--json'])).stdout).toContain('none yet')
  })

  test('is the one that an owner gives it', async () => {
    const home = await newHomeWithStore()
    const [id] = Array.from(Object.values(Object((await home.json('device', 'list'))['data'])))
    const { id: deviceId } = Object(id)
    const renamed = await home.ok('device', 'rename', deviceId, 'build server')
    expect(renamed).toBe(`${deviceId} is named build server\n`)
    expect(await home.ok('device', 'list')).toMatch(/^build server\towner\t/)
    const { data } = await home.json('device', 'list')
    expect(Object(data)[0]).toMatchObject({ name: 'build server', admitted_by: 'owner' })
  })

  test('travels with a device card, and is shown before it is added', async () => {
    const home = await newHomeWithStore()
    const other = newHome()
    const { card } = await other.json('device', 'card', '--name', 'build server')
    const file = home.file('card', String(card))
    const { stderr } = await home.call(['device', 'add', file])
    expect(stderr).toMatch(/The card is of build server \(dev_\w{26}\)/)
    const added = await home.ok('device', 'add', file, '--yes')
    expect(added).toMatch(/^Added build server \(dev_\w{26}\) as writer\n/)
    expect(await namesIn(home)).toEqual([hostname(), 'build server'])
  })

  test('is given with join and recover', { tags: 'slow' }, async () => {
    const url = bareRemote()
    const { home, recoveryKey } = await firstMachine(url)
    const address = await pinned(home, url)
    const [second, third] = [newHome(), newHome()]
    const env = { GITLOCKET_RECOVERY_KEY_FILE: home.file('key', recoveryKey) }
    const joined = await second.call(['join', address, '--name', 'anna-laptop'], env)
    expect(joined.stdout).toContain('\n  Name         anna-laptop\n')
    expect(joined.stdout).not.toContain('Another device')
    const words = ['recover', '--store', second.store, '--name', 'berta', '--json']
    const recovered = await third.call(words, env)
    expect(JSON.parse(recovered.stdout)).toMatchObject({ device_name: 'berta' })
    expect(await namesIn(second)).toEqual(['', 'anna-laptop', 'berta'])
  })
})

describe('a name that another device has', () => {
  const told = '\nAnother device is called anna too. An owner changes that with\n`gitlocket device'

  test(
    'is reported to a device that joins, unless the other one was removed',
    { tags: 'slow' },
    async () => {
      const url = bareRemote()
      const { home, recoveryKey } = await firstMachine(url)
      const address = await pinned(home, url)
      const [second, third, fourth, fifth] = [newHome(), newHome(), newHome(), newHome()]
      const env = { GITLOCKET_RECOVERY_KEY_FILE: home.file('key', recoveryKey) }
      await second.call(['join', address, '--name', 'anna'], env)
      const joined = await third.call(['join', address, '--name', 'anna'], env)
      expect(joined).toMatchObject({ stdout: expect.stringContaining(told), stderr: '' })
      const recover = ['recover', '--store', third.store, '--name', 'anna']
      expect((await fourth.call(recover, env)).stdout).toContain(told)
      const id = String((await third.json('key', 'show'))['device_id'])
      await third.ok('device', 'rename', id, 'berta')
      const { data } = await third.json('device', 'list')
      const others = Array.from(Object.values(Object(data)), (device) => Object(device))
        .filter(({ name }) => name === 'anna')
        .map((device) => String(device.id))
      await third.call(['device', 'remove', ...others, '--yes'])
      expect(await fifth.call(recover, env)).toMatchObject({
        exitCode: 0,
        stdout: expect.not.stringContaining('Another device'),
      })
    },
  )
})

describe('the name of a device is shown', () => {
  test('with its id, wherever a device is', { tags: 'slow' }, async () => {
    const home = newHome()
    await home.ok('init', '--name', 'anna-laptop')
    await home.ok('create', 'a.md', '--text', 'one\n')
    const { device_id: id } = await home.json('status')
    const shown = `anna-laptop (${String(id)})`
    expect(await home.ok('status')).toContain('\nDevice     anna-laptop, owner\n')
    expect(await home.ok('status', '-v')).toContain(`\nDevice id  ${String(id)}\n`)
    expect(await home.ok('key', 'show')).toContain('\nName            anna-laptop\n')
    const log = await home.ok('log')
    expect(log).toContain(`\nDevice:   ${shown}\n`)
    const [, version = ''] = /^version (memver_\w+)$/m.exec(log) ?? []
    expect(await home.ok('show', version)).toContain(`\nDevice:   ${shown}\n`)
    expect(await home.ok('audit')).toContain(`\nDevice:  ${shown}\n`)
    expect(await home.ok('audit')).toContain(`\n  added ${shown} as owner\n`)
    for (const words of [['log'], ['show', version], ['blame', 'a.md'], ['audit'], ['status']]) {
      const text = await home.ok(...words, '--json')
      expect(text, words.join(' ')).toContain('"device_name":"anna-laptop"')
    }
    const named = `<bdi>anna-laptop</bdi> (<code>${String(id)}</code>)`
    expect(await home.ok('report')).toContain(`${named}, owner`)
    expect(await home.ok('report', '--format', 'csv')).toContain(',anna-laptop,')
    expect(await home.ok('report', '--format', 'json')).toMatch(/"device_name": ?"anna-laptop"/)
  })

  test('by blame if several have written, and when it was removed', { tags: 'slow' }, async () => {
    const url = bareRemote()
    const { home, recoveryKey } = await firstMachine(url)
    const other = newHome()
    const env = { GITLOCKET_RECOVERY_KEY_FILE: home.file('key', recoveryKey) }
    await other.call(['join', await pinned(home, url), '--name', 'old phone'], env)
    const id = String((await other.json('status'))['device_id'])
    expect(await other.ok('blame', 'notes.md')).not.toContain('\told phone\t')
    await other.ok('str-replace', 'notes.md', '--old', 'two', '--new', '2')
    const blame = await other.ok('blame', 'notes.md')
    expect(blame).toMatch(/^user:alice\t\t\S+\told phone\t/m)
    // The first device has no name.
    expect(blame).toMatch(/^session:\S+\t\S+\t\S+\t\w{8}\tmemver_/m)
    expect(blame).not.toContain(id)
    await other.ok('sync')
    await home.call(['sync'])
    await home.call(['device', 'remove', id, '--yes'])
    expect(await home.ok('log', '-n', '1')).toContain(`\nDevice:   old phone (${id})\n`)
    expect(await home.ok('audit', '-n', '1')).toContain(`  removed old phone (${id})\n`)
  })
})

describe('a new device', () => {
  test('is announced by the next sync of others, once', { tags: 'slow' }, async () => {
    const url = bareRemote()
    const [first, anna, berta, auditor] = [newHome(), newHome(), newHome(), newHome()]
    const passphrase = { GITLOCKET_PASSPHRASE_FILE: first.file('passphrase', 'correct horse') }
    const { stdout } = await first.call(['init', '--json'], passphrase)
    const key = first.file('key', JSON.parse(stdout).recovery_key ?? '')
    const card = await auditor.json('device', 'card', '--name', 'auditor')
    await first.ok(
      'device',
      'add',
      first.file('card', String(card['card'])),
      '--role',
      'auditor',
      '--yes',
    )
    await first.ok('remote', 'add', 'origin', url)
    expect(await first.ok('sync')).not.toContain('joined')
    const address = await pinned(first, url)
    await auditor.ok('join', address)

    const joined = await anna.call(['join', address, '--name', 'anna-laptop', '--json'], passphrase)
    const id = String(JSON.parse(joined.stdout).device_id)
    const line = `  a new device joined: anna-laptop (${id}), writer, by passphrase\n`
    expect(await first.ok('sync')).toContain(line)
    expect((await first.call(['sync'])).stdout).not.toContain('joined')
    expect(await auditor.ok('sync')).toContain(line)
    expect((await auditor.call(['sync'])).stdout).not.toContain('joined')

    const env = { GITLOCKET_RECOVERY_KEY_FILE: key }
    await berta.call(['join', address, '--name', 'berta'], env)
    expect(await first.json('sync')).toMatchObject({
      new_devices: [{ name: 'berta', role: 'owner', admitted_by: 'recovery' }],
    })
    const { card: other } = await newHome().json('device', 'card', '--name', 'server')
    await berta.ok('device', 'add', berta.file('card', String(other)), '--yes')
    await berta.ok('sync')
    const told = await anna.ok('pull')
    expect(told).toMatch(/joined: berta \(dev_\w+\), owner, by recovery key\n/)
    expect(told).toMatch(/joined: server \(dev_\w+\), writer, by an owner\n/)
  })
})
