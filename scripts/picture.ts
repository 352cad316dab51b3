// Makes docs/tour.svg, the picture of the README, from a real run of the tour: `npm run picture`.
// Light or dark, as its reader's page is.

import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { escaped, renderPicture } from './bench/svg.ts'

const tour = fileURLToPath(new URL('tour/main.js', import.meta.url))
const file = fileURLToPath(new URL('../docs/tour.svg', import.meta.url))
/** Where the picture begins and ends in the tour. */
const FIRST = 'Later, Ines writes'
const END = 'Continue with this store'

const [charWidth, lineHeight, margin] = [7.25, 17, 18]
const COLUMNS_MAX = 106
const font = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'
const style = `
  text { font: ${font}; fill: #1f2328; white-space: pre }
  .frame { fill: #f6f8fa; stroke: #d1d9e0 }
  .heading { font-weight: 600; fill: #0b5394 }
  .command { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #d1d7e0 }
    .frame { fill: #151b23; stroke: #3d444d }
    .heading { fill: #79b8ff }
  }
`
const title =
  'An agent was poisoned: blame finds the line, an undo, an erased key, a second machine, and ' +
  'what the host sees'

writeFileSync(file, pictureOf(storyOf(runTour())))

function runTour(): string {
  const { status, stdout, stderr } = spawnSync(execPath, [tour], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const root = dirname(/GITLOCKET_STORE=(.+)/.exec(stdout)?.[1] ?? '')
  rmSync(root, { recursive: true })
  return stdout.replaceAll(root, '~')
}

function storyOf(output: string): readonly string[] {
  const lines = output.split('\n')
  const start = lines.findIndex((line) => line.startsWith(FIRST))
  const end = lines.indexOf(END)
  if (start === -1 || end === -1) throw new Error('The tour tells another story')
  return lines.slice(start, end - 1).map((line) => line.slice(0, COLUMNS_MAX))
}

function pictureOf(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS_MAX * charWidth + 2 * margin)
  const height = lines.length * lineHeight + 2 * margin
  const texts = lines.flatMap((line, index) => {
    if (line === '') return []
    const kind = line.startsWith('$ ') ? 'command' : line.startsWith(' ') ? 'answer' : 'heading'
    const y = margin + (index + 1) * lineHeight - 5
    const at = `class="${kind}" x="${margin}" y="${y}" xml:space="preserve"`
    return `<text ${at}>${escaped(line)}</text>`
  })
  return renderPicture({ title, width, height, style, shapes: texts })
}
