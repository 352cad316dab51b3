// The console of one process follows what others write and erase.

import { describe, expect, test } from 'vitest'
import { browserOfFile, chromiumHere, consolePage } from '../support/browser.ts'
import { patience } from '../support/patience.ts'
import { ended, newHome } from './cli-process.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

describe.skipIf(missing)(`a console next to other processes${note}`, { tags: ['slow'] }, () => {
  test('shows the writes of other processes, and nothing that they erase', async () => {
    const home = newHome()
    await home.ok('init', '--no-passphrase')
    await home.run(['write', '/notes.md', '-'], { input: 'first\n' })
    const child = home.start(['console', '--no-open'])
    const address = await new Promise<string>((resolve) => {
      child.stdout?.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()))
    })
    const { page } = await consolePage(await browser(), address)
    await page.getByRole('link', { name: 'Memories', exact: true }).click()
    await page.getByRole('treeitem', { name: 'notes.md' }).click()
    await page.getByText('first').first().waitFor()
    await home.run(['write', '/notes.md', '-'], { input: 'a secret canary\n' })
    await page.getByText('a secret canary').waitFor(patience)
    await page.getByRole('tab', { name: 'Changes' }).click()
    await page.locator('td.add', { hasText: 'canary' }).waitFor()
    const erased = await home.run(['redact', '--matching', 'canary', '--overwrite', '--yes'])
    expect(erased.exitCode).toBe(0)
    await expect.poll(() => page.content(), patience).not.toContain('canary')
    child.kill('SIGTERM')
    expect((await ended(child)).exitCode).toBe(0)
  })
})
