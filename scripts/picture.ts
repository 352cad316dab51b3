// Makes docs/tour.svg, the picture of the README, from a real run of the tour: `npm run picture`.
// Light or dark, as its reader's page is. Its five scenes appear one after another in twelve
// seconds; docs/tour-still.svg, for readers who want no motion, has them all at once.

import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { escaped, renderPicture } from './bench/svg.ts'

const tour = fileURLToPath(new URL('tour/main.js', import.meta.url))
const fileOf = (name: string): string => fileURLToPath(new URL(`../docs/${name}`, import.meta.url))
/** A scene: the section of the tour whose heading begins so, and which of its lines are shown. */
interface Scene {
  readonly heading: string
  readonly lines: RegExp
  /** When it begins, in seconds. */
  readonly at: number
}

const scenes: readonly Scene[] = [
  { heading: 'Session friday', lines: /insert .*conventions/, at: 0.4 },
  { heading: 'Later, Ines writes', lines: /blame|imperative|post the output/, at: 1.8 },
  { heading: 'She undoes', lines: /^\$|Changed/, at: 4.4 },
  { heading: 'The key is still', lines: /^\$|^ {4}\S|Redacted|nothing is left/, at: 6.4 },
  { heading: 'What the host of a remote sees', lines: /ls-tree|ciphertext/, at: 9.6 },
]
/** From one line of a scene to the next. */
const LINE_SECONDS = 0.4

const [charWidth, lineHeight, margin] = [7.25, 19, 20]
const COLUMNS_MAX = 106
const font = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'
const style = `
  text { font: ${font}; fill: #1f2328; white-space: pre }
  .frame { fill: #f6f8fa; stroke: #d1d9e0 }
  .heading { font-weight: 600; fill: #0b5394 }
  .command { font-weight: 600 }
  .poison { fill: #b3261e }
  @media (prefers-color-scheme: dark) {
    text { fill: #d1d7e0 }
    .frame { fill: #151b23; stroke: #3d444d }
    .heading { fill: #79b8ff }
    .poison { fill: #ff9d96 }
  }
`
const motion = `
  @keyframes appear { from { opacity: 0 } }
  @media (prefers-reduced-motion: no-preference) {
    text { animation: appear 0.4s ease-out both }
  }
`
const title =
  'A session was poisoned: blame finds the line, an undo takes it back, the key that leaked is ' +
  'erased, and the host sees only ciphertext'

const lines = linesOf(runTour())
writeFileSync(fileOf('tour.svg'), pictureOf(lines, style + motion))
// Not every browser tells a picture what its reader wants: the README chooses between both.
writeFileSync(fileOf('tour-still.svg'), pictureOf(lines, style))

function runTour(): string {
  const { status, stdout, stderr } = spawnSync(execPath, [tour], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const root = dirname(/GITLOCKET_STORE=(.+)/.exec(stdout)?.[1] ?? '')
  rmSync(root, { recursive: true })
  return stdout.replaceAll(root, '~')
}

/** A line of the picture; undefined leaves room between two scenes. */
interface Line {
  readonly text: string
  readonly kind: 'heading' | 'command' | 'answer' | 'poison'
  readonly at: number
}

function linesOf(output: string): readonly (Line | undefined)[] {
  const sections = output.split('\n\n').map((section) => section.trimEnd().split('\n'))
  const picture: (Line | undefined)[] = []
  for (const { heading, lines: wanted, at } of scenes) {
    const [first = '', ...rest] = sections.find((one) => one[0]?.startsWith(heading)) ?? []
    const shown = rest.filter((line) => wanted.test(line))
    if (shown.length === 0) throw new Error(`The tour tells another story: ${heading}`)
    if (picture.length > 0) picture.push(undefined)
    for (const [number, line] of [first, ...shown].entries()) {
      const text = line.slice(0, COLUMNS_MAX)
      picture.push({ text, kind: kindOf(line, number), at: at + number * LINE_SECONDS })
    }
  }
  return picture
}

function kindOf(line: string, number: number): Line['kind'] {
  if (number === 0) return 'heading'
  if (line.startsWith('$ ')) return 'command'
  return line.includes('post the output') ? 'poison' : 'answer'
}

function pictureOf(all: readonly (Line | undefined)[], css: string): string {
  const width = Math.ceil(COLUMNS_MAX * charWidth + 2 * margin)
  const height = all.length * lineHeight + 2 * margin
  const texts = all.flatMap((line, index) => {
    if (line === undefined) return []
    const y = margin + (index + 1) * lineHeight - 5
    const delay = `animation-delay:${line.at.toFixed(1)}s`
    const place = `class="${line.kind}" x="${margin}" y="${y}" style="${delay}"`
    return `<text ${place} xml:space="preserve">${escaped(line.text)}</text>`
  })
  return renderPicture({ title, width, height, style: css, shapes: texts })
}
