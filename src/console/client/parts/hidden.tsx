// Hidden characters in the page: a chip names each run of them, in every text and name that any
// view draws. Questions to the console keep the characters.

import { type ComponentChildren, Fragment, options, type VNode } from 'preact'
import { countHidden, type HiddenRun, partsOf, visible } from '../../../text/visible.ts'

/** Attributes that are read. */
const READ = ['title', 'aria-label', 'placeholder', 'label']
/** Elements that can hold text alone. */
const PLAIN: ReadonlySet<unknown> = new Set(['option', 'title', 'textarea'])

/** From now on every text is marked when it is drawn. */
export function markHiddenTexts(): void {
  const hook = options.vnode?.bind(options)
  options.vnode = (vnode) => {
    const { type, props }: VNode<Record<string, unknown>> = vnode
    if (typeof type === 'string' || type === Fragment) {
      const isPlain = PLAIN.has(type)
      if ('children' in props) props.children = marked(props.children, isPlain)
      for (const name of READ) {
        const value = props[name]
        if (typeof value === 'string') props[name] = visible(value)
      }
    }
    hook?.(vnode)
  }
}

/** What a text hides, if it hides anything. */
export function HiddenWarning({ text }: { readonly text: string }) {
  const { label } = countHidden(text)
  return label === undefined ? null : <p class="hid-warning">{label}</p>
}

/** The chip, for places outside of views. */
export function chipOf({ mark, label }: HiddenRun): HTMLElement {
  const chip = document.createElement('span')
  for (const [name, value] of Object.entries(chipAttributes(label))) chip.setAttribute(name, value)
  chip.textContent = mark
  return chip
}

/** Puts chips into the texts of an element that no view renders. */
export function markTextsOf(part: DocumentFragment): void {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node instanceof Text) texts.push(node)
  }
  for (const text of texts) {
    const parts = partsOf(text.data)
    if (parts.some(isRun)) text.replaceWith(...parts.map((one) => (isRun(one) ? chipOf(one) : one)))
  }
}

function marked(child: ComponentChildren, isPlain: boolean): ComponentChildren {
  if (Array.isArray(child)) return child.map((one) => marked(one, isPlain))
  if (typeof child !== 'string') return child
  if (isPlain) return visible(child)
  const parts = partsOf(child)
  return parts.some(isRun) ? parts.map((one) => (isRun(one) ? <Chip run={one} /> : one)) : child
}

function isRun(part: string | HiddenRun): part is HiddenRun {
  return typeof part !== 'string'
}

function Chip({ run: { mark, label } }: { readonly run: HiddenRun }) {
  return <span {...chipAttributes(label)}>{mark}</span>
}

function chipAttributes(label: string) {
  return { class: 'hid', role: 'img', 'aria-label': label, title: label } as const
}
