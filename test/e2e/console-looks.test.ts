// How the console looks and is reached: nothing that axe reports on any screen, in light and dark,
// wide and narrow, now, in the past and read-only; by keyboard alone; and how much of it is loaded.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { browserOfFile, chromiumHere, consolePage, expectAccessible } from '../support/browser.ts'
import { storeToLookAt, storeToShow } from '../support/console-store.ts'
import { openedConsole } from '../support/console.ts'
import {
  countNodes,
  focusedTag,
  follow,
  isFocused,
  isSettled,
  placesInPage,
  widthOfPage,
} from '../support/in-page.mjs'
import { contentsOf } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const pictures = [
  ['light', new URL('../../docs/console.png', import.meta.url)],
  ['dark', new URL('../../docs/console-dark.png', import.meta.url)],
] as const

const views = [
  '/review',
  '/memories',
  '/timeline',
  '/sessions',
  '/merges',
  '/redaction',
  '/devices',
  '/sync',
  '/audit',
  '/settings',
]

const looks = [
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
  { width: 1024, colorScheme: 'light' },
  { width: 400, colorScheme: 'light' },
  { width: 400, colorScheme: 'dark' },
] as const

async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(follow, path)
  await page.locator('main h1').first().waitFor()
  await page.waitForFunction(isSettled)
}

describe.skipIf(missing)(`the console's looks${note}`, { tags: ['slow'] }, () => {
  test.each(looks)('axe finds nothing at $width px, $colorScheme', async (look) => {
    const store = await storeToLookAt()
    const shown = await openedConsole(store)
    const { page } = await consolePage(await browser(), shown.newAddress(), look)
    const { data } = await store.history.versions()
    const memoryId = data.find(({ path }) => path?.endsWith('decisions.md'))?.memoryId ?? ''
    const [newest] = data
    const { commit } = await store.history.place({ position: 8 })
    const merge = (await store.history.conflicts())[0]?.versionId ?? ''
    const all = [
      ...views,
      ...['read', 'source', 'changes', 'blame'].map((tab) => `/memory/${memoryId}?tab=${tab}`),
      `/memory/${memoryId}?tab=changes&at=${commit}`,
      `/memories?at=${commit}`,
      `/timeline/${newest?.versionId}`,
      `/sessions/session/${data.find(({ session }) => session === 'friday-billing')?.versionId}`,
      `/review/${data.find(({ session }) => session === 'friday-billing')?.versionId}`,
      `/sessions/change/${newest?.versionId}`,
      `/merges/${merge}`,
      `/rollback/${commit}`,
      `/compare/${commit}`,
      '/search',
      '/new',
    ]
    for (const path of all) {
      await visit(page, path)
      await expectAccessible(page)
      const width = await page.evaluate(widthOfPage)
      expect([path, width <= look.width]).toEqual([path, true])
      const { bar, content } = await page.evaluate(placesInPage)
      expect([path, bar <= 60, content <= 120]).toEqual([path, true, true])
      expect(await page.evaluate(countNodes)).toBeLessThan(5000)
    }
  })

  test('the tree is shown with memories, and is in a drawer where the page is narrow', async () => {
    const store = await storeToLookAt()
    const shown = await openedConsole(store)
    const { page } = await consolePage(await browser(), shown.newAddress(), { width: 1440 })
    const tree = page.getByRole('tree', { name: 'Memories by path' })
    const menu = page.getByRole('button', { name: 'Menu' })
    await visit(page, '/settings')
    expect(await tree.count()).toBe(0)
    await visit(page, '/memories')
    await tree.waitFor()
    expect(await menu.isVisible()).toBe(false)
    for (const width of [1024, 400]) {
      await page.setViewportSize({ width, height: 900 })
      await visit(page, '/memories')
      await tree.waitFor({ state: 'hidden' })
      await page.getByRole('button', { name: 'Browse memories' }).click()
      await tree.waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      await tree.waitFor({ state: 'hidden' })
      await expectFocus(page)
      await page.keyboard.press('f')
      await page.locator('#filter:focus').waitFor()
      await page.getByRole('treeitem', { name: 'todo.md' }).click()
      await page.locator('h1', { hasText: 'todo.md' }).waitFor()
      await tree.waitFor({ state: 'hidden' })
    }
    await menu.click()
    await page.getByRole('link', { name: 'Devices', exact: true }).click()
    await page.getByRole('heading', { name: 'Devices' }).waitFor()
  })

  // UPDATE_DOCS=1 makes the pictures of the README.
  test('looks as in its pictures', async () => {
    const shown = await openedConsole(await storeToShow())
    for (const [colorScheme, picture] of pictures) {
      const view = { width: 1280, colorScheme }
      const { page } = await consolePage(await browser(), shown.newAddress(), view)
      await visit(page, '/memories')
      await page.getByRole('treeitem', { name: 'decisions.md' }).click()
      await page.getByRole('tab', { name: 'Changes' }).click()
      await page.locator('mark', { hasText: 'five' }).waitFor()
      await page.getByText('note the retry rule').first().waitFor()
      await page.locator('.bars .at-redaction').waitFor()
      const made = await page.screenshot()
      if (process.env['UPDATE_DOCS'] === '1') writeFileSync(picture, made)
      const kept = readFileSync(picture)
      expect(kept.readUInt32BE(16)).toBe(made.readUInt32BE(16))
      expect(kept.readUInt32BE(20)).toBe(made.readUInt32BE(20))
    }
  })

  test('a session is undone, and a memory edited, by keyboard alone', async () => {
    const store = await storeToLookAt()
    const shown = await openedConsole(store)
    const { page } = await consolePage(
      await browser(),
      shown.newAddress().replace('/#', '/memories#'),
    )
    const { keyboard } = page
    await page.getByRole('treeitem', { name: 'todo.md' }).waitFor()
    await page.getByText(/^\d+ commits$/).waitFor()
    await keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await expectAccessible(page)
    await keyboard.press('Escape')
    // The tree, by the filter above it.
    await keyboard.press('f')
    await keyboard.type('todo')
    await tabTo(page, '[role=tree]')
    await keyboard.press('End')
    await keyboard.press('Enter')
    await page.locator('h1', { hasText: 'todo.md' }).waitFor()
    await keyboard.press('e')
    await page.getByRole('textbox', { name: 'Text of /todo.md' }).waitFor()
    await keyboard.type('typed ')
    await keyboard.press('Control+s')
    await page.getByRole('tab', { name: 'Read' }).waitFor()
    await expect.poll(async () => (await contentsOf(store))['/todo.md']).toMatch(/^typed /)
    await expectFocus(page)
    await keyboard.press('g')
    await keyboard.press('s')
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.getByRole('link', { name: /Undo.*friday-billing/ }).waitFor()
    await tabTo(page, 'a[href^="/sessions/session/"]')
    await keyboard.press('Enter')
    await page.getByText('Nothing has happened yet.').waitFor()
    await expectFocus(page)
    await tabTo(page, 'form.go input')
    await keyboard.type('by keyboard')
    await keyboard.press('Enter')
    await page.getByText('Done.').waitFor()
    await expectFocus(page)
  })

  test('a dialog gives the focus back', async () => {
    const store = await storeToLookAt()
    const shown = await openedConsole(store)
    const { page } = await consolePage(
      await browser(),
      shown.newAddress().replace('/#', '/memories#'),
    )
    await page.getByRole('treeitem', { name: 'todo.md' }).click()
    for (const name of ['Move…', 'Delete…', 'Go to…']) {
      const button = page.getByRole('button', { name })
      await button.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await expect.poll(() => button.and(page.locator(':focus')).count()).toBe(1)
    }
  })
})

/** As a user does: with Tab, and never without a place. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(isFocused, selector)) return
  }
  throw new Error(`Tab never comes to ${selector}`)
}

async function expectFocus(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(focusedTag)).not.toBe('BODY')
}

describe('the files that a browser loads', () => {
  const assets = new URL('../../dist/console/client/assets/', import.meta.url)
  const sizeOf = (pattern: RegExp): number =>
    readdirSync(assets)
      .filter((name) => pattern.test(name))
      .reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, assets))).length, 0)

  test.each([
    ['the first page', /^index-.*\.js$/, 70_000],
    ['the pages of redaction, devices, sync, audit and settings', /^care-.*\.js$/, 20_000],
    ['Markdown', /^markdown-html-.*\.js$/, 30_000],
    ['the editor', /^code-editor-.*\.js$/, 125_000],
    ['the styles', /\.css$/, 12_000],
  ])('%s is within its budget', (_, pattern, budget) => {
    const size = sizeOf(pattern)
    expect(size).toBeGreaterThan(1000)
    expect(size).toBeLessThanOrEqual(budget)
  })

  test('nothing else is in it but the icon of the tab', () => {
    expect(readdirSync(assets)).toHaveLength(6)
  })
})
