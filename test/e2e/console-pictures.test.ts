// Pictures of the pages of the console, in console-pictures/: each page at three widths, in light
// and dark, on one sheet a quarter as large. UPDATE_PICTURES=1 renews them; look at them before you
// commit them. A failed test writes its own to build/console-pictures/.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { env } from 'node:process'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { browserOfFile, chromiumHere, consolePage } from '../support/browser.ts'
import { storeToShow } from '../support/console-store.ts'
import { openedConsole } from '../support/console.ts'
import { differencesOf, follow, hideIds, isSettled, sheetOf } from '../support/in-page.mjs'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const kept = new URL('console-pictures/', import.meta.url)
const failed = new URL('../../build/console-pictures/', import.meta.url)

const isUpdate = env['UPDATE_PICTURES'] === '1'

const NOW = Date.UTC(2026, 4, 22, 9)
const HEIGHT = 900

/** A color that differs by less, of 255, is the same: edges of letters do. */
const CONTRAST = 24
/** In a thousand of the pixels of a part: a bar that moves by 20 px makes 2, other letters 0. */
const DIFFERENT_MAX = 1.5
/** A late part of a page has arrived by then. An update keeps the last look. */
const LOOKS_MAX = 8

/** A place on a sheet, in px of the page. */
interface Part {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
  readonly left: number
  readonly top: number
}

const parts: readonly Part[] = (['light', 'dark'] as const).flatMap((colorScheme, row) => {
  const top = row * HEIGHT
  return [
    { width: 1440, colorScheme, left: 0, top },
    { width: 1024, colorScheme, left: 1440, top },
    { width: 400, colorScheme, left: 2464, top },
  ]
})

/** The first of two tabs has the wide parts. */
const partsOf = (tab: number): readonly Part[] =>
  parts.filter(({ width }) => (width === 400) === (tab === 1))

describe.skipIf(missing)(`the pages of the console${note}`, { tags: ['slow'] }, () => {
  test('look as in their pictures', async () => {
    const store = await storeToShow(NOW)
    const shown = await openedConsole(store, { clock: () => NOW })
    const chromium = await browser()
    const tabOf = async (width: number): Promise<Page> =>
      (await consolePage(chromium, shown.newAddress(), { now: NOW, width })).page
    // The layout of differences is chosen when a page is opened.
    const tabs = await Promise.all([1440, 400].map(tabOf))
    const desk = await (await chromium.newContext()).newPage()
    const differences: string[] = []
    const look = async (name: string, ready: (tab: Page) => Promise<unknown>): Promise<void> => {
      await Promise.all(tabs.map(ready))
      let found: readonly string[] = []
      for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
        const shots = await Promise.all(tabs.map((tab, index) => shotsOf(tab, partsOf(index))))
        found = await differing(desk, name, shots.flat())
        if (found.length === 0 && !isUpdate) return
      }
      differences.push(...found)
    }
    for (const [name, path, last] of await pagesOf(store)) {
      await look(name, async (tab) => {
        await tab.evaluate(follow, path)
        await tab.locator(last).first().waitFor()
        await tab.waitForFunction(isSettled)
      })
    }
    await tabs[0]?.getByRole('button', { name: 'Lock', exact: true }).click()
    await shown.locked
    await shown.close()
    await look('locked', (tab) => tab.getByRole('heading', { name: 'Locked' }).waitFor())
    expect(differences).toEqual([])
  })
})

/** Each with its name, its address, and the part that arrives last. */
async function pagesOf({ history }: MemoryStore) {
  const { data } = await history.versions()
  const { commit } = await history.place({ position: 8 })
  const friday = data.find(({ session }) => session === 'friday-billing')?.versionId
  const decisions = data.find(({ path }) => path?.endsWith('decisions.md'))?.memoryId
  return [
    ['review', '/review', 'text=reported stolen'],
    ['memories', '/memories', 'text=Recent activity'],
    ['memory', `/memory/${decisions}`, '.origin-bar'],
    ['past', `/memory/${decisions}?tab=changes&at=${commit}`, 'text=Ask Bo before changing it.'],
    ['timeline', '/timeline', 'text=learned during the import'],
    ['undo', `/sessions/session/${friday}`, 'button:has-text("Undo: change")'],
    ['redaction', '/redaction', 'text=waiting for 1 device'],
    ['devices', '/devices', 'text=this device'],
    ['sync', '/sync', 'text=has all commits'],
    ['audit', '/audit', 'tr.redacts'],
    ['settings', '/settings', 'text=Keys and passphrase'],
  ] as const
}

interface Shot extends Part {
  /** A JPEG in base64. */
  readonly data: string
}

async function shotsOf(tab: Page, wanted: readonly Part[]): Promise<readonly Shot[]> {
  const shots: Shot[] = []
  for (const part of wanted) {
    const { width, colorScheme } = part
    await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await tab.setViewportSize({ width, height: HEIGHT })
    await tab.evaluate(hideIds)
    const picture = await tab.screenshot({ type: 'jpeg', quality: 95 })
    shots.push({ ...part, data: picture.toString('base64') })
  }
  return shots
}

/** The parts of a page that do not look as in its picture. */
async function differing(
  desk: Page,
  name: string,
  shots: readonly Shot[],
): Promise<readonly string[]> {
  const made = await desk.evaluate(sheetOf, { width: 2864, height: 2 * HEIGHT, shots })
  const write = (directory: URL): void => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(new URL(`${name}.jpg`, directory), made, 'base64')
  }
  if (isUpdate) {
    write(kept)
    return []
  }
  const sheets = [readFileSync(new URL(`${name}.jpg`, kept), 'base64'), made] as const
  const places = shots.map(({ left, top, width }) => ({ left, top, width, height: HEIGHT }))
  const input = { sheets, parts: places, contrast: CONTRAST }
  const shares = await desk.evaluate(differencesOf, input)
  const found = shots.filter((_, index) => (shares[index] ?? 0) > DIFFERENT_MAX)
  if (found.length > 0) write(failed)
  return found.map(({ width, colorScheme }) => `${name} at ${width} px, ${colorScheme}`)
}
