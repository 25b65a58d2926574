import { readFileSync } from 'node:fs'
import { Html, html } from '@sluice/html'
import { Marked } from 'marked'

// The section "Runbook" of docs/operations.md, so that operators have it where they see the problem.
const document = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
const [, section = ''] = /^## Runbook\n(.*?)(?=^## )/ms.exec(document) ?? []

/** The names of all entries. They are also the names of the alerts. */
export const runbookEntries: readonly string[] = [...section.matchAll(/^### (.+)$/gm)].map(([, name = '']) => name)

const anchorOf = (name: string) => name.toLowerCase()

/** Returns the address of an entry of the runbook. */
export function runbookAddress(name: string): string {
  return `/queues/runbook#${anchorOf(name)}`
}

const marked = new Marked({
  renderer: {
    heading({ text }) {
      return html`<h2 id="${anchorOf(text)}">${text}</h2>`.text
    },
    code({ text }) {
      return html`<pre tabindex="0"><code data-copy="command">${text}</code></pre>`.text
    },
    // The other documents are not part of the dashboard.
    link({ text }) {
      return html`${text}`.text
    },
  },
})

const rendered = new Html(marked.parse(section, { async: false }))

/** Renders the runbook, with a list of its entries. */
export function runbookContent(): Html {
  return html`<p><a href="/queues">Back to the queues</a></p>
    <nav aria-label="Entries"><ul class="entries">${runbookEntries.map((name) => html`<li><a href="#${anchorOf(name)}">${name}</a></li>`)}</ul></nav>
    <div class="card prose">${rendered}</div>`
}
