// `report` and `report verify` on the built command: the files, which never replace others, and who
// accepts the signature.

import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { requires } from '../support/tools.ts'
import { copiesOf, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const ssh = requires('ssh-keygen')

/** A store with a redaction, its certificate, and a report with its signature. */
const homeWithReport = copiesOf(async (home) => {
  await home.ok('init')
  await home.ok('create', 'key.md', '--text', 'sk-live-1234')
  const words = [
    'redact',
    '--path',
    'key.md',
    '--overwrite',
    '--yes',
    '--certificate',
    'proof.json',
  ]
  await home.call(words)
  await home.ok('report', '--out', 'report.html', '--certificate', 'proof.json')
})

function read(home: Home, name: string): string {
  return readFileSync(join(home.directory, name), 'utf8')
}

describe('report', () => {
  test('writes a page and its signature, which only the user can read', async () => {
    const home = await homeWithReport()
    for (const name of ['report.html', 'report.html.sig']) {
      expect(statSync(join(home.directory, name)).mode & 0o777).toBe(0o600)
    }
    const page = read(home, 'report.html')
    expect(page).toMatch(/^<!doctype html>[^]*<\/html>\n$/)
    expect(page).toMatch(/Verified, signed by <bdi>[^<]+<\/bdi> \(<code>dev_/)
    expect(page).toContain('Nothing is left in this copy of the store')
    expect(page).not.toMatch(/key\.md|sk-live/)
  })

  test('is written to standard output without --out, in each form', { tags: 'slow' }, async () => {
    const home = await homeWithReport()
    expect(await home.ok('report')).toMatch(/^<!doctype html>/)
    expect(await home.ok('report', '--format', 'csv')).toMatch(/^type,time,[^]*\r\nredaction,/)
    const report = JSON.parse(await home.ok('report', '--format', 'json', '--since', '1h'))
    expect(report).toMatchObject({
      type: 'gitlocket_report',
      verification: { extent: 'history' },
      redactions: [{ certificate: null, absence: 'nothing_found' }],
    })
  })

  test(
    'replaces nothing unless asked, and then no file behind a link',
    { tags: 'slow' },
    async () => {
      const home = await homeWithReport()
      const before = read(home, 'report.html')
      for (const name of ['report.html', 'report.html.sig']) {
        const out = name.replace(/\.sig$/, '')
        const { exitCode, stderr } = await home.call(['report', '--out', out])
        expect({ exitCode, stderr }).toEqual({
          exitCode: 4,
          stderr: expect.stringMatching(/exists already: name another one, or add --force/),
        })
      }
      writeFileSync(join(home.directory, 'alone.html.sig'), 'x')
      expect((await home.call(['report', '--out', 'alone.html'])).exitCode).toBe(4)
      expect(read(home, 'report.html')).toBe(before)
      symlinkSync(home.file('mine', 'precious'), join(home.directory, 'link.html'))
      await home.ok('report', '--out', 'link.html', '--force')
      expect(read(home, 'mine')).toBe('precious')
      expect(read(home, 'link.html')).toMatch(/^<!doctype html>/)
      expect((await home.call(['report', '--force'])).exitCode).toBe(2)
    },
  )

  test('is not made with a certificate that is not proven', async () => {
    const home = await homeWithReport()
    home.file('forged.json', read(home, 'proof.json').replace('unspecified', 'legal'))
    const words = ['--certificate', 'proof.json', '--certificate', 'forged.json']
    const { exitCode, stdout } = await home.call(['report', '--out', 'new.html', ...words])
    expect({ exitCode, stdout }).toEqual({ exitCode: 11, stdout: '' })
    expect(() => read(home, 'new.html')).toThrow(/ENOENT/)
  })
})

describe('report verify', () => {
  test(
    'accepts the devices of the store and a given key, and no other signer',
    { tags: 'slow' },
    async () => {
      const home = await homeWithReport()
      const words = ['report', 'verify', 'report.html']
      expect(await home.ok(...words)).toMatch(
        /^About {8}memstore_\w{26}\nSigned by {4}dev_\w{26}, owner\n[^]*\n\nVerified: a dev/,
      )
      const found = await home.json(...words)
      expect(found).toMatchObject({ verified_by: 'store', role: 'owner', removed_at: null })
      const elsewhere = ['--store', 'nowhere', ...words]
      for (const key of [String(found['device_id']), String(found['public_key'])]) {
        const by = await home.json(...elsewhere, '--device', key)
        expect(by).toMatchObject({ verified_by: 'key', device_id: found['device_id'] })
      }
      const nobody = await home.call(elsewhere)
      expect(nobody).toMatchObject({ exitCode: 4, stderr: '' })
      expect(nobody.stdout).toMatch(/NOT VERIFIED: anybody can make such a file/)
    },
  )

  test('refuses a file that differs from the signed one, and finds the signature', async () => {
    const home = await homeWithReport()
    home.file('other.html', read(home, 'report.html').replace('Verified', 'Certified'))
    home.file('same.html', read(home, 'report.html'))
    const words = ['--signature', 'report.html.sig']
    await home.ok('report', 'verify', 'same.html', ...words)
    const { exitCode, stdout, stderr } = await home.call([
      'report',
      'verify',
      'other.html',
      ...words,
    ])
    expect({ exitCode, stdout }).toEqual({ exitCode: 11, stdout: '' })
    expect(stderr).toMatch(/differs from the signed file[^]*hint: Do not believe it/)
    expect((await home.call(['report', 'verify', 'same.html'])).exitCode).toBe(2)
  })

  test('reports how to verify one about another store', async () => {
    const [home, other] = [await homeWithReport(), await newHomeWithStore()]
    for (const name of ['report.html', 'report.html.sig']) other.file(name, read(home, name))
    const { exitCode, stdout, stderr } = await other.call(['report', 'verify', 'report.html'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 11, stdout: '' })
    expect(stderr).toMatch(/is about the store memstore_\w+, and this one is memstore_/)
    expect(stderr).toContain('hint: --store names another store; --device needs none')
  })

  test.skipIf(ssh.missing)(`ssh-keygen verifies it too${ssh.note}`, async () => {
    const home = await homeWithReport()
    const { public_key: key } = await home.json('report', 'verify', 'report.html')
    home.file('signers', `device ${String(key)}\n`)
    const words = ['-f', 'signers', '-I', 'device', '-n', 'gitlocket-report', '-s']
    const said = execFileSync('ssh-keygen', ['-Y', 'verify', ...words, 'report.html.sig'], {
      cwd: home.directory,
      input: readFileSync(join(home.directory, 'report.html')),
    })
    expect(said.toString()).toMatch(/^Good "gitlocket-report" signature for device/)
  })
})

test(
  'an auditor reports on the trail, and a removed device is not believed',
  { tags: 'slow' },
  async () => {
    const home = await homeWithReport()
    const machines: Home[] = []
    for (const role of ['auditor', 'owner']) {
      const machine = newHome()
      home.file(`${role}.card`, await cardOf(machine))
      await home.ok('device', 'add', `${role}.card`, '--role', role, '--yes')
      machines.push(machine)
    }
    const [auditor, leaving] = machines
    if (auditor === undefined || leaving === undefined) throw new Error('A machine is missing')
    await auditor.ok('--store', home.store, 'report', '--out', 'r.html', '--format', 'json')
    const report = JSON.parse(read(auditor, 'r.html'))
    expect(report).toMatchObject({
      name: null,
      role: 'auditor',
      verification: { extent: 'trail' },
      redactions: [{ absence: null }],
    })
    await leaving.ok('--store', home.store, 'report', '--out', 'r.html')
    for (const [machine, name] of [
      [auditor, 'a.html'],
      [leaving, 'b.html'],
    ] as const) {
      home.file(name, read(machine, 'r.html'))
      home.file(`${name}.sig`, read(machine, 'r.html.sig'))
    }
    const { device_id: id } = await home.json('report', 'verify', 'b.html')
    await home.call(['device', 'remove', String(id), '--yes'])
    expect(await home.ok('report', 'verify', 'a.html')).toMatch(/, auditor\n/)
    const { exitCode, stdout } = await home.call(['report', 'verify', 'b.html', '--json'])
    expect(exitCode).toBe(4)
    const removed_at: unknown = expect.stringMatching(/^\d{4}-/)
    expect(JSON.parse(stdout)).toMatchObject({ verified_by: null, device_id: id, removed_at })
  },
)

async function cardOf(machine: Home): Promise<string> {
  const { card } = JSON.parse((await machine.call(['device', 'card', '--json'])).stdout)
  return String(card)
}
