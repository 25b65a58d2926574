import { readFileSync } from 'node:fs'
import { Html, html } from '@sluice/html'
import { Marked, type MarkedExtension } from 'marked'
import { style } from './docs-assets.ts'
import { type ServedDocument, servedDocument } from './served-document.ts'

/** The documents of docs/ that the API serves, by the name in their address. `id` is their part of operation IDs. */
export const guides = {
  api: { id: 'Api', title: 'How to use the API', about: 'from the token to the error file, each step as a command' },
  guide: { id: 'Guide', title: 'Guide', about: 'what a file may contain, types of values, dry runs, undo, webhooks' },
} as const

export type GuideName = keyof typeof guides

export const guideNames = Object.keys(guides) as GuideName[]

/** A document as a page for people, and as Markdown for programs. */
export type Guide = Record<'html' | 'markdown', ServedDocument>

/**
 * Returns a function that returns a document for an API at this address. Links to what no API serves become plain text.
 * A document is read when it is first asked for.
 */
export function servedGuides(apiUrl: string): (name: GuideName) => Guide {
  const made = new Map<GuideName, Guide>()
  return (name) => {
    const known = made.get(name)
    if (known !== undefined) return known
    const markdown = markdownOf(name, apiUrl)
    const guide = { html: servedDocument(guidePage(name, markdown)), markdown: servedDocument(markdown) }
    made.set(name, guide)
    return guide
  }
}

/** Returns what a program should read first, in the form of llmstxt.org. */
export function llmsText(apiUrl: string): string {
  const documents = guideNames.map(
    (name) => `- [${guides[name].title}](${apiUrl}/docs/${name}.md): ${guides[name].about}`,
  )
  return `# Sluice API

> Keeps profiles of an app's end users: values by key. Updates one user at a time, or many users from a CSV file.

The address of this API is ${apiUrl}. Each request has the app's API token in the header \`X-Service-Token\`.

## Documents

${documents.join('\n')}
- [OpenAPI 3.1](${apiUrl}/openapi.json): every route, member and answer
`
}

function markdownOf(name: GuideName, apiUrl: string): string {
  const text = readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), 'utf8')
  const served = `#|https?:|(?:${guideNames.join('|')})\\.md`
  return text
    .replaceAll('http://127.0.0.1:3000', apiUrl)
    .replaceAll(new RegExp(`\\[([^\\]]+)\\]\\((?!${served})[^)]+\\)`, 'g'), '$1')
    .replaceAll(/^<!--.*-->\n/gm, '')
}

/** Returns a page, which loads nothing and has no script. */
function guidePage(name: GuideName, markdown: string): string {
  const { titles, extension } = collectedTitles()
  const text = new Html(new Marked(extension).parse(markdown, { async: false }))
  const page = (each: GuideName) =>
    html`<li><a href="${each}"${each === name && html` aria-current="page"`}>${guides[each].title}</a></li>`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${guides[name].title} – Sluice API</title>
<style>${new Html(style)}</style>
</head>
<body>
<aside>
<a href="../docs"><b>Sluice API</b></a>
<nav aria-label="Documents"><ul>${guideNames.map(page)}<li><a href="../docs">All routes</a></li></ul>
<h2>On this page</h2><ul>${titles.map((title) => html`<li><a href="#${anchorOf(title)}">${title}</a></li>`)}</ul></nav>
</aside>
<main>${text}<p><a href="${name}.md">This page as Markdown</a></p></main>
</body>
</html>
`.text
}

/** Returns how Markdown becomes HTML, and a list that gets the titles of the sections. */
function collectedTitles(): { titles: string[]; extension: MarkedExtension } {
  const titles: string[] = []
  const extension: MarkedExtension = {
    renderer: {
      heading({ text, depth }) {
        if (depth === 2) titles.push(text)
        return html`${new Html(`<h${depth}`)} id="${anchorOf(text)}">${text}${new Html(`</h${depth}>`)}\n`.text
      },
      code({ text }) {
        return html`<pre tabindex="0">${text}</pre>\n`.text
      },
      link({ href, tokens }) {
        const address = href.replace(/^(\w+)\.md/, '$1')
        return html`<a href="${address}">${new Html(this.parser.parseInline(tokens))}</a>`.text
      },
    },
  }
  return { titles, extension }
}

/** Returns the anchor of a title, as GitHub makes it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
