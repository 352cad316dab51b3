// The console of a large store: the drawn page does not grow with it. FULL=1 has 100,000 commits,
// and prints how long a user waits, which no test asserts.

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { browserOfFile, chromiumHere, consolePage } from '../support/browser.ts'
import { session } from '../support/console-store.ts'
import { openedConsole } from '../support/console.ts'
import { countNodes, countTrees, follow, isSettled, timeOfFilter } from '../support/in-page.mjs'
import { patience } from '../support/patience.ts'
import { full } from '../support/seed.ts'
import { newStore } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const MEMORIES = 10_000
const COMMITS = full ? 100_000 : 500
/** At once: they share their syncs to the disk. */
const WRITERS = 32

const pathOf = (index: number): string => `/team-${index % 20}/note-${index}.md`

async function largeStore() {
  const { store } = await newStore()
  const changes = Array.from({ length: MEMORIES }, (_, index) => {
    return { type: 'create', path: pathOf(index), content: `note ${index}\n` } as const
  })
  await session(store, 'import').apply(changes)
  let next = 0
  const write = async (): Promise<void> => {
    while (next < COMMITS) {
      const index = next
      next += 1
      const me = session(store, `session-${Math.floor(index / 50)}`)
      await me.write(pathOf(index % MEMORIES), `note ${index}, later\n`)
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
  return store
}

describe.skipIf(missing)(`a large store in a browser${note}`, { tags: ['slow'] }, () => {
  test(`${MEMORIES} memories are a page of few nodes, whatever is shown`, async () => {
    const store = await largeStore()
    const shown = await openedConsole(store)
    const address = shown.newAddress()
    const chromium = await browser()
    const begin = performance.now()
    const { page } = await consolePage(chromium, address)
    await page.getByRole('article').first().waitFor()
    const firstView = performance.now() - begin
    await page.getByRole('link', { name: 'Memories', exact: true }).click()
    const tree = page.getByRole('tree', { name: 'Memories by path' })
    await tree.getByRole('treeitem').first().waitFor()
    const times = {
      firstView,
      steps: [] as number[],
      filters: [] as number[],
    }
    await page.getByLabel('Filter paths').fill('note-99.md')
    await tree.getByRole('treeitem', { name: 'note-99.md' }).waitFor()
    await page.getByLabel('Filter paths').fill('note-9999')
    await tree.getByRole('treeitem', { name: 'note-9999.md' }).click()
    await page.getByText('note 9999').first().waitFor()
    await page.getByLabel('Filter paths').fill('')
    await tree.focus()
    await page.keyboard.press('End')
    await tree.getByRole('treeitem').last().waitFor()
    for (const text of ['n', 'note-77', 'team-3/', '']) {
      times.filters.push(await page.evaluate(timeOfFilter, text))
    }
    await page.getByRole('slider', { name: 'Moment shown' }).focus()
    for (let step = 0; step < 6; step += 1) times.steps.push(await timeOfStep(page))
    if (full) process.stdout.write(`${JSON.stringify(times, (_, value) => rounded(value))}\n`)
    const { commit } = await store.history.place({ position: 2 })
    const { data } = await store.history.versions({ order: 'oldest', limit: 1 })
    const views = [
      '/review',
      `/review/${data[0]?.versionId}`,
      '/memories',
      '/timeline',
      `/timeline/${data[0]?.versionId}`,
      '/sessions',
      `/sessions/session/${data[0]?.versionId}`,
      `/compare/${commit}`,
      `/memories?at=${commit}`,
      '/redaction',
    ]
    for (const view of views) {
      await page.evaluate(follow, view)
      await page.locator('main h1').first().waitFor()
      await page.waitForFunction(isSettled, undefined, patience)
      expect([view, (await page.evaluate(countNodes)) < 5000]).toEqual([view, true])
    }
  })
})

/** Until the tree of the moment before is there, in ms. */
async function timeOfStep(page: Page): Promise<number> {
  const before = await page.evaluate(countTrees)
  const start = performance.now()
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => page.evaluate(countTrees), { interval: 5 }).toBeGreaterThan(before)
  return performance.now() - start
}

function rounded(value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value) : value
}
