// The console in a browser: redaction, devices, sync, audit and settings; and what a
// console that may only read, and an auditor's, look like.

import { readFileSync } from 'node:fs'
import type { Download } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { reportSigner } from '../../src/cli/report/signed.ts'
import { sha256OfText } from '../../src/crypto/digest.ts'
import { formatId } from '../../src/format/id.ts'
import { formatDeviceCard, generateIdentity } from '../../src/index.ts'
import { auditorSubject } from '../../src/operations/console/subject.ts'
import { verifyReport } from '../../src/store/report/report-signature.ts'
import {
  browserOfFile,
  chromiumHere,
  consolePage,
  expectAccessible,
  pageToLookAt,
} from '../support/browser.ts'
import { openedConsole } from '../support/console.ts'
import { countPrints, hasPrinted } from '../support/in-page.mjs'
import { author, contentsOf, newStore } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const opened = async (path: string, options?: Parameters<typeof pageToLookAt>[2]) =>
  pageToLookAt(await browser(), path, options)

describe.skipIf(missing)(`care in a browser${note}`, { tags: ['slow'] }, () => {
  test('replaces a pasted text everywhere, and gives the certificate again and again', async () => {
    const { page, store } = await opened('/redaction')
    await page.getByLabel('Text to erase').fill('payment team\n')
    await page.getByRole('button', { name: 'Find every place' }).click()
    await page.locator('.place mark', { hasText: 'payment team' }).first().waitFor()
    expect(await page.content()).not.toContain('call the payment')
    await expectAccessible(page)
    expect(await page.getByRole('radio', { name: /^Replace just this text/ }).isChecked()).toBe(
      true,
    )
    const erase = page.getByRole('button', { name: /^Erase 1 version/ })
    await page.getByLabel('Type 1 to erase').fill('1')
    // No reason is chosen yet.
    await erase.click({ force: true })
    await page.getByLabel('Why').selectOption('leaked secret')
    await page.getByLabel('Type 1 to erase').fill('2')
    await erase.click({ force: true })
    expect((await contentsOf(store))['/todo.md']).toContain('payment')
    await page.getByLabel('Type 1 to erase').fill('1')
    await erase.click()
    await page.getByText('nothing is left').waitFor()
    expect((await contentsOf(store))['/todo.md']).toBe('- [ ] call the [redacted]\n')
    expect(new URL(page.url()).pathname).toMatch(/^\/redaction\/[0-9a-f]{64}$/)
    const certificate = async (): Promise<string> => {
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download the certificate' }).click()
      return readFileSync(await (await download).path(), 'utf8')
    }
    const text = await certificate()
    const { versions, object_ids: objects } = await store.maintenance.verifyCertificate(text)
    expect(versions).toHaveLength(1)
    expect(await page.getByLabel('Request to the host').inputValue()).toContain(objects[0])
    await page
      .getByText(/has written nothing|last wrote/)
      .first()
      .waitFor()
    await expectAccessible(page)
    await page.reload()
    await page.getByRole('heading', { name: 'Redacted 1 version' }).waitFor()
    expect(await certificate()).toBe(text)
    await page.getByRole('link', { name: '‹ Redaction' }).click()
    const earlier = page.getByRole('region', { name: 'Earlier redactions' })
    await earlier.getByText('waiting for 1 device').first().waitFor()
  })

  test('begins a redaction with a text that is selected in a memory', async () => {
    const { page } = await opened('/memories')
    await page.getByRole('treeitem', { name: 'todo.md' }).click()
    await page.locator('.markdown li').dblclick({ position: { x: 45, y: 8 } })
    await page.getByRole('button', { name: 'Redact this…' }).click()
    const word = await page.getByLabel('Text to erase').inputValue()
    expect('call the payment team'.split(' ')).toContain(word)
    expect(page.url()).not.toContain(word)
    await page.getByRole('button', { name: 'Find every place' }).click()
    await page.locator('.place mark', { hasText: word }).first().waitFor()
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    expect(await page.getByLabel('Text to erase').inputValue()).toBe(word)
    await page.goBack()
    await page.getByRole('link', { name: 'Redact…' }).first().click()
    expect(await page.getByLabel('Text to erase').inputValue()).toBe('')
  })

  test('adds a device by its card and fingerprint, and removes it', async () => {
    const { page, store } = await opened('/devices')
    const identity = await generateIdentity()
    await page.getByRole('button', { name: 'Add a device…' }).click()
    await page.getByLabel('Its card').fill(formatDeviceCard(identity, { name: 'phone' }))
    await page.getByLabel(/^Its fingerprint/).fill(formatId('device', identity.deviceId))
    await page.getByLabel('Role').selectOption('reader')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const row = page.getByRole('row', { name: /phone/ })
    await row.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByRole('heading', { name: 'Removed' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await row.getByText('was reader').waitFor()
    const found = (await store.devices.list()).find(({ name }) => name === 'phone')
    expect(found?.removed).toBeDefined()
  })

  test('reports a sync and shows the words of the head', async () => {
    const { page, store } = await opened('/sync')
    const { headFingerprint } = await store.status()
    await page.getByText(headFingerprint.join(' ')).waitFor()
    await page.getByRole('button', { name: 'Sync now' }).click()
    await page.getByRole('heading', { name: 'Synced with origin' }).waitFor()
    await page.getByText('has all commits').waitFor()
    await expectAccessible(page)
  })

  test('asks before it forgets a remote', async () => {
    const { page, store } = await opened('/sync')
    const forget = page.getByRole('button', { name: 'Forget the remote origin' })
    await forget.click()
    const question = page.getByRole('dialog', { name: 'Forget the remote origin?' })
    await question.getByText(/^It lacks \d+ commits of this device/).waitFor()
    await expectAccessible(page)
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await store.remotes.list()).toHaveLength(1)
    await forget.click()
    await question.getByRole('button', { name: 'Forget it' }).click()
    await page.getByText('The store has no remote.').waitFor()
    expect(await store.remotes.list()).toEqual([])
  })

  test('verifies every commit and reports on screen and as CSV', async () => {
    const { page } = await opened('/audit')
    await page.getByText('all of it holds').waitFor()
    await page.getByRole('button', { name: 'Verify every commit' }).click()
    await page.getByText('Verifying from').waitFor({ state: 'detached' })
    await page.getByText('all of it holds').waitFor()
    await page.getByRole('heading', { name: /^Redactions not confirmed/ }).waitFor()
    const trail = page.getByRole('region', { name: 'Trail', exact: true })
    await trail.getByText('redacted 1 version, leaked secret').waitFor()
    await page.getByLabel('Person, session or device').fill('friday')
    await page.getByText('2 commits, newest').waitFor()
    expect(await trail.getByText('redacted').count()).toBe(0)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toContain('redaction')
    await expectAccessible(page)
    await page.emulateMedia({ media: 'print' })
    expect(await page.getByRole('navigation', { name: 'Views' }).isVisible()).toBe(false)
  })

  test('prints every row of the trail, with the period and who is missing', async () => {
    const { page, store } = await opened('/audit')
    await page.getByText('Last verified').waitFor()
    for (let row = 0; row < 120; row += 1) await store.as(author).write('/row.md', `${row}`)
    await page.getByText('There are newer commits').waitFor()
    await page.getByRole('button', { name: 'Verify every commit' }).click()
    await page.getByRole('status').getByText('Page 1').waitFor()
    const { commits } = await store.status()
    await page.emulateMedia({ media: 'print' })
    await page.getByText('shows only a part of the trail').waitFor()
    await page.emulateMedia({ media: 'screen' })
    await page.evaluate(countPrints)
    await page.getByRole('button', { name: 'Print the trail' }).click()
    await page.waitForFunction(hasPrinted)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('tbody tr:visible').count()).toBe(commits)
    await page.getByText('from the first commit to the newest').waitFor()
    await page.getByText(/Waiting for dev_/).waitFor()
    expect(await page.getByText('Page 1').isVisible()).toBe(false)
  })

  test('changes settings, turns the guard on and lets a text through', async () => {
    const { page, store } = await opened('/settings')
    await page.getByLabel('Description').fill('of our agents')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('of our agents').or(page.getByText('Saved')).first().waitFor()
    await page.getByRole('button', { name: 'Turn the guard on' }).click()
    await page.getByText('On: texts').waitFor()
    await page.getByRole('button', { name: 'What would it refuse now?' }).click()
    await page.getByText('Nothing.').waitFor()
    const text = `key ghp_${'aB3dE5gH7jK9'.repeat(3)}`
    await expect(store.as(author).write('/key.md', text)).rejects.toThrow('GitHub token')
    await page.getByLabel('SHA-256 of a refused text').fill(sha256OfText(text))
    await page.getByRole('button', { name: 'Let this text through' }).click()
    await page.getByRole('list', { name: 'Texts let through' }).waitFor()
    await store.as(author).write('/key.md', text)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'No longer let through' }).click()
    await page.getByRole('list', { name: 'Texts let through' }).waitFor({ state: 'detached' })
    const { settings } = await store.info()
    expect(settings.description).toBe('of our agents')
    expect(Object.keys(settings.metadata)).toHaveLength(1)
    await expectAccessible(page)
  })

  test('offers nothing that writes if the console is read-only', async () => {
    const { page } = await opened('/memories', { access: 'read_only' })
    await page.getByText('read-only').waitFor()
    await page.getByRole('treeitem', { name: 'todo.md' }).click()
    await page.getByRole('tab', { name: 'Read' }).waitFor()
    for (const name of [/Edit/, /Move/, /Delete/]) {
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    }
    expect(await page.getByRole('link', { name: /^New memory|^Restore|^Redact…/ }).count()).toBe(0)
    await expectAccessible(page)
    for (const view of ['Devices', 'Sync', 'Settings', 'Redaction', 'Sessions']) {
      await page.getByRole('link', { name: view, exact: true }).click()
      await page.getByRole('heading', { name: view }).first().waitFor()
      const writes = page.getByRole('button', { name: /Add|Remove|Sync now|Save|Turn the guard/ })
      expect([view, await writes.count()]).toEqual([view, 0])
    }
  })

  test('shows devices and proofs to an auditor', async () => {
    const { store, place } = await newStore()
    await store.as(author).write('/secret.md', 'canary')
    const identity = await generateIdentity()
    await store.as(author).devices.add(formatDeviceCard(identity, { name: 'auditor' }), 'auditor')
    await store.close()
    const stateDirectory = `${place.stateDirectory}-auditor`
    const places = { directory: place.directory, stateDirectory, identity }
    const subject = auditorSubject({
      places,
      clock: Date.now,
      sign: reportSigner(identity, Date.now),
    })
    const shown = await openedConsole(store, { subject })
    const address = shown.newAddress()
    const { page } = await consolePage(await browser(), address)
    await page.getByText('all of it holds').waitFor()
    await page
      .getByRole('region', { name: 'Trail', exact: true })
      .getByText('agent-1')
      .first()
      .waitFor()
    await expectAccessible(page)
    const files: Download[] = []
    page.on('download', (file) => files.push(file))
    await page.getByRole('button', { name: 'Download signed report' }).click()
    await expect.poll(() => files.length).toBe(2)
    const [report, signature] = await Promise.all(files.map((file) => file.path()))
    const html = readFileSync(report ?? '')
    const signer = await verifyReport(html, readFileSync(signature ?? '', 'utf8'), 'unknown')
    expect(signer.deviceId).toBe(formatId('device', identity.deviceId))
    expect(html.toString()).not.toMatch(/secret|canary/)
    expect(await page.locator('.rail a').allTextContents()).toHaveLength(2)
    await page.getByRole('link', { name: 'Devices', exact: true }).click()
    await page.getByText('this device').waitFor()
    expect(await page.content()).not.toMatch(/secret|canary/)
  })
})
