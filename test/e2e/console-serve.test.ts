// `serve --console`: all stores of a server in one console, on a listener of its own.

import type { ChildProcess } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { jsonOf } from '../../src/console/client/core/trusted.ts'
import { browserOfFile, chromiumHere, consolePage, expectAccessible } from '../support/browser.ts'
import { patience } from '../support/patience.ts'
import { ended, newHome } from './cli-process.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

interface Served {
  readonly child: ChildProcess
  readonly url: string
  readonly address: string
}

async function served(home: ReturnType<typeof newHome>): Promise<Served> {
  const child = home.start(['serve', '--port', '0', '--console', '--json'])
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (bytes: Buffer) => resolve(bytes.toString()))
    void ended(child).then(({ stderr }) => reject(new Error(stderr)))
  })
  const { url, console: address } = JSON.parse(line)
  return { child, url, address }
}

describe.skipIf(missing)(`the console of a server${note}`, { tags: ['slow'] }, () => {
  test('shows each store by itself, follows it, and ends without the server', async () => {
    const home = newHome()
    const { child, url, address } = await served(home)
    const key = await home.json('api-key', 'create')
    const api = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
      const answer = await fetch(`${url}/v1/memory_stores${path}`, {
        method: 'POST',
        headers: {
          'x-api-key': String(key['token']),
          'anthropic-version': '2023-06-01',
          'anthropic-beta': 'agent-memory-2026-07-22',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      expect(answer.status).toBe(200)
      return jsonOf(answer)
    }
    const { page } = await consolePage(await browser(), address)
    await page.getByText('The server has no store yet').waitFor()
    await expectAccessible(page)
    const [one, two] = [await api('', { name: 'one' }), await api('', { name: 'two' })]
    await api(`/${one['id']}/memories`, { path: '/of-one.md', content: 'text of one' })
    await api(`/${two['id']}/memories`, { path: '/of-two.md', content: 'text of two' })
    await page.reload()
    await page.getByRole('link', { name: 'one' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'one' }).click()
    await page.getByRole('treeitem', { name: 'of-one.md' }).click()
    await page.getByText('text of one').waitFor()
    expect(await page.content()).not.toContain('of-two')
    await page.reload()
    await page.getByText('text of one').waitFor()
    await api(`/${one['id']}/memories`, { path: '/later.md', content: '' })
    await page.getByRole('treeitem', { name: 'later.md' }).waitFor(patience)
    await page.goto(`${new URL(address).origin}/memories?store=${two['id']}`)
    await page.getByRole('treeitem', { name: 'of-two.md' }).waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    // Where the bar has no room for the store, the drawer has it.
    await page.setViewportSize({ width: 400, height: 900 })
    await page.getByRole('button', { name: 'Menu' }).click()
    const drawer = page.locator('.side.open')
    await drawer.getByText('two', { exact: true }).waitFor()
    await drawer.getByRole('link', { name: 'All stores' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByLabel('Name').fill('second')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    await page.getByRole('link', { name: 'All stores' }).click()
    await page.getByRole('link', { name: 'second' }).waitFor()
    await page.getByRole('link', { name: 'second' }).click()
    await page.getByRole('button', { name: 'Lock' }).click()
    await page.getByRole('heading', { name: 'Locked' }).waitFor()
    await api(`/${one['id']}/memories`, { path: '/still.md', content: '' })
    child.kill('SIGTERM')
    const { exitCode } = await ended(child)
    expect(exitCode).toBe(0)
  })
})
