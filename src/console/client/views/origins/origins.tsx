// A thin gutter next to a memory that is read: by whom, or when, each line was written. A part of
// it opens the origin of its lines, with the way back.

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Blame } from '../../../../operations/console/contract.ts'
import { atNow } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { writerOf } from '../../parts/labels.tsx'
import type { MarkdownBlock } from '../../parts/markdown-html.ts'
import { loadMarkdown } from '../../parts/markdown.tsx'
import { relativeTime } from '../../parts/times.ts'
import { OriginPanel } from './origin-panel.tsx'

type ShownBy = 'author' | 'age' | 'none'

/** How every memory is shown, until the page is left. */
const shownBy = signal<ShownBy>('author')

const choices: readonly (readonly [ShownBy, string])[] = [
  ['author', 'Author'],
  ['age', 'Age'],
  ['none', 'Off'],
]

interface OriginsProps {
  readonly memoryId: string
  readonly text: string
  /** The text as Markdown. */
  readonly children: ComponentChildren
}

export function Origins({ memoryId, text, children }: OriginsProps) {
  const by = shownBy.value
  const asked = by === 'none' ? undefined : { memoryId, at: atNow.value }
  const { data } = useAsk('memory.blame', asked)
  const box = useRef<HTMLDivElement>(null)
  const bars = useBars(box, text, data)
  const [open, setOpen] = useState<string>()
  const colors = data === undefined ? [] : colorsOf(data, by)
  useEffect(() => setOpen(undefined), [memoryId, text, by, atNow.value])
  return (
    <>
      <div class="origins-bar">
        <span class="seg" role="group" aria-label="Origin of lines">
          {choices.map(([name, label]) => (
            <button
              key={name}
              type="button"
              aria-pressed={by === name}
              onClick={() => (shownBy.value = name)}
            >
              {label}
            </button>
          ))}
        </span>
        {data !== undefined && <Legend blame={data} by={by} colors={colors} />}
      </div>
      <div class={by === 'none' ? 'read' : 'read with-origins'} ref={box}>
        {children}
        {bars.map((bar) => {
          const version = data?.versions[bar.version]
          if (version === undefined) return null
          const key = `${bar.line} ${version.versionId}`
          return (
            <div key={key}>
              <button
                type="button"
                class={`origin-bar ${colors[bar.version] ?? ''}`}
                style={{ top: `${bar.top}px`, height: `${bar.height}px` }}
                title={`${writerOf(version)}, ${relativeTime(version.createdAt)}`}
                aria-label={`${linesText(bar)}: ${writerOf(version)}`}
                aria-expanded={open === key}
                onClick={() => setOpen(open === key ? undefined : key)}
              />
              {open === key && (
                <OriginPanel
                  memoryId={memoryId}
                  title={linesText(bar)}
                  top={bar.top + Math.min(bar.height, SEEN_PX) + 4}
                  version={version}
                  lines={data?.lines.slice(bar.line, bar.line + bar.lines) ?? []}
                  onClose={() => setOpen(undefined)}
                />
              )}
            </div>
          )
        })}
      </div>
    </>
  )
}

function linesText({ line, lines }: Pick<Bar, 'line' | 'lines'>): string {
  return lines === 1 ? `Line ${line + 1}` : `Lines ${line + 1} to ${line + lines}`
}

/** The panel leaves the first of its lines in view. */
const SEEN_PX = 60

/** Lines that follow each other and came from one version, and where they are drawn. */
interface Bar {
  readonly version: number
  /** Counted from 0. */
  readonly line: number
  readonly lines: number
  /** In pixels. */
  readonly top: number
  readonly height: number
}

/** Measured anew whenever the text is drawn with another size. */
function useBars(
  box: { readonly current: HTMLElement | null },
  text: string,
  blame: Blame | undefined,
): readonly Bar[] {
  const [bars, setBars] = useState<readonly Bar[]>([])
  useEffect(() => {
    const { current } = box
    // Until the new ones are measured the former ones remain, and with them an open panel.
    if (blame === undefined) setBars([])
    if (current === null || blame === undefined) return undefined
    let isGone = false
    const measure = async (): Promise<void> => {
      const { blocksOf } = await loadMarkdown()
      if (!isGone) setBars(barsOf(current, blocksOf(text), blame))
    }
    // Fails if the console has ended.
    const look = (): void => void measure().catch(() => setBars([]))
    const sizes = new ResizeObserver(look)
    sizes.observe(current)
    look()
    return () => {
      isGone = true
      sizes.disconnect()
    }
  }, [text, blame])
  return bars
}

/** None if the elements are not those that the blocks stand for. */
function barsOf(
  box: HTMLElement,
  blocks: readonly MarkdownBlock[],
  { lines }: Blame,
): readonly Bar[] {
  const elements = elementsIn(box)
  if (elements.length !== blocks.length) return []
  const start = box.getBoundingClientRect().top
  const bars: Bar[] = []
  for (const [index, { line, lines: count }] of blocks.entries()) {
    const { top = 0, height = 0 } = elements[index]?.getBoundingClientRect() ?? {}
    for (let at = 0; at < count; at += 1) {
      const version = lines[line + at]?.version
      if (version === undefined) continue
      const share = height / count
      addLine(bars, {
        version,
        line: line + at,
        lines: 1,
        top: top - start + at * share,
        height: share,
      })
    }
  }
  return bars
}

function addLine(bars: Bar[], next: Bar): void {
  const last = bars.at(-1)
  if (last?.version !== next.version) bars.push(next)
  else {
    const lines = next.line + 1 - last.line
    bars[bars.length - 1] = { ...last, lines, height: next.top + next.height - last.top }
  }
}

function elementsIn(box: HTMLElement): readonly Element[] {
  const shown = [...(box.querySelector('.markdown')?.children ?? [])]
  return shown.flatMap((one) => (one.matches('ul, ol') ? Array.from(one.children) : one))
}

const COLORS = 6

/** The class of each version. */
function colorsOf({ versions }: Blame, by: ShownBy): readonly string[] {
  if (by === 'age') return versions.map(({ createdAt }) => `age-${ageOf(createdAt)}`)
  const names = [...new Set(versions.map(writerOf))]
  return versions.map((version) => `author-${names.indexOf(writerOf(version)) % COLORS}`)
}

const DAY_MS = 24 * 3600 * 1000
/** Each with its least age in days, the oldest first. */
const AGES = [
  ['older than a year', 365],
  ['this year', 30],
  ['this month', 7],
  ['this week', 1],
  ['today', 0],
] as const

function ageOf(time: number): number {
  const days = (Date.now() - time) / DAY_MS
  return AGES.findIndex(([, least], index) => days >= least || index === AGES.length - 1)
}

interface LegendProps {
  readonly blame: Blame
  readonly by: ShownBy
  readonly colors: readonly string[]
}

const NAMES_SHOWN = 6

function Legend({ blame: { versions }, by, colors }: LegendProps) {
  const named = new Map(
    versions.map((version, index) => {
      const name = by === 'age' ? AGES[ageOf(version.createdAt)]?.[0] : writerOf(version)
      return [name ?? '', colors[index] ?? '']
    }),
  )
  return (
    <span class="legend">
      {[...named].slice(0, NAMES_SHOWN).map(([name, color]) => (
        <span key={name}>
          <i class={color} aria-hidden="true" />
          {name}
        </span>
      ))}
      {named.size > NAMES_SHOWN && <span>and {named.size - NAMES_SHOWN} more</span>}
    </span>
  )
}
