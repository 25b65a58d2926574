import { Html, html } from '@sluice/html'
import { script, style } from './docs-assets.ts'
import type { ApiDocument, CodeSample, Content, JsonSchema, Operation, Response } from './document-types.ts'
import { guideNames, guides } from './guides.ts'

interface DocumentedOperation {
  method: string
  path: string
  operation: Operation
}

/**
 * Returns the API document as one HTML page: its navigation lists the routes, and the page shows one of them. It loads
 * nothing and needs no script; its own script adds the search. All texts are escaped.
 */
export function docsPage(document: ApiDocument): string {
  const { info, servers, tags, components } = document
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const ofTag = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag))
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<aside>
<a href="#start"><b>${info.title}</b></a> ${info.version}
${guideNames.map((name) => html`<br><a href="docs/${name}">${guides[name].title}</a>`)}
<input type="search" placeholder="Search" aria-label="Search routes and texts" hidden>
<nav aria-label="Routes">
${tags.map((tag) => html`<h2>${tag.name}</h2><ul>${ofTag(tag.name).map(entry)}</ul>\n`)}
<h2>Reference</h2><ul><li><a href="#schemas">Schemas</a></li><li><a href="#all">Everything on one page</a></li></ul>
</nav>
</aside>
<main id="all">
<section id="start">
<h1>${info.title} <small>${info.version}</small></h1>
<p>${servers.map(({ url }) => html`<code>${url}</code> `)}· <a href="openapi.json">OpenAPI document</a></p>
<p>Begin here: <a href="docs/api">${guides.api.title}</a>, ${guides.api.about}. Programs begin with <a href="llms.txt">llms.txt</a>.</p>
${text(info.description)}
<table>${tags.map((tag) => html`<tr><td><b>${tag.name}</b></td><td>${inline(tag.description)}</td></tr>`)}</table>
</section>
${tags.map((tag) => ofTag(tag.name).map(section))}
<section id="schemas"><h2>Schemas</h2>
${Object.entries(components.schemas).map(schemaEntry)}
</section>
</main>
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

function entry({ method, operation }: DocumentedOperation): Html {
  return html`<li><a href="#${operation.operationId}"><span class="method">${method}</span>${operation.summary}</a></li>`
}

function section({ method, path, operation }: DocumentedOperation): Html {
  const { parameters = [], requestBody, responses } = operation
  const rows = parameters.map(
    ({ name, description, example }) =>
      html`<tr><td><code>${name}</code></td><td>${inline(description)}</td><td><code>${String(example)}</code></td></tr>`,
  )
  return html`<section id="${operation.operationId}">
<h2>${operation.summary}${marks(operation)}</h2>
<p><code><b class="method">${method}</b> ${path}</code></p>
${text(operation.description)}
${samples(operation)}
${rows.length > 0 && html`<h3>Parameters</h3><table>${rows}</table>`}
${requestBody && html`<h3>Request</h3>${text(requestBody.description)}${bodies(requestBody.content)}`}
<h3>Answers</h3>
${Object.entries(responses).map(responseEntry)}
</section>
`
}

function samples({ operationId, 'x-codeSamples': all = [] }: Operation): Html {
  const each = ({ label, source }: CodeSample, index: number) =>
    html`<details name="sample-${operationId}" data-language="${label}"${index === 0 && new Html(' open')}><summary>${label}</summary>
<pre>${source}</pre></details>
`
  return html`<h3>Example</h3>\n${all.map(each)}`
}

function marks(operation: Operation): Html[] {
  const names = [
    ...(operation.security.length > 0 ? ['token'] : []),
    ...(operation.deprecated ? ['deprecated'] : []),
    ...(operation['x-sluice-extension'] ? ['extension'] : []),
  ]
  return names.map((name) => html` <span class="mark">${name}</span>`)
}

function responseEntry([status, { description, headers = {}, content = {} }]: [string, Response]): Html {
  const rows = Object.entries(headers).map(
    ([name, header]) => html`<tr><td><code>${name}</code></td><td>${inline(header.description)}</td></tr>`,
  )
  return html`<details${status.startsWith('2') && new Html(' open')}><summary><b>${status}</b> ${inline(description)}</summary>
${rows.length > 0 && html`<table>${rows}</table>`}
${bodies(content)}</details>
`
}

function bodies(content: Record<string, Content>): Html[] {
  return Object.entries(content).map(([type, { schema, examples }]) => {
    const shown = Object.values(examples).map(({ summary, value }) => {
      const code = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
      return html`${summary !== undefined && html`<p>${inline(summary)}</p>`}<pre>${code}</pre>\n`
    })
    return html`<p><code>${type}</code>${schemaLink(schema)}</p>${shown}\n`
  })
}

function schemaLink({ $ref }: JsonSchema): Html | undefined {
  const name = typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
  return name === undefined ? undefined : html` of schema <a href="#schema-${name}">${name}</a>`
}

function schemaEntry([name, schema]: [string, JsonSchema]): Html {
  return html`<h3 id="schema-${name}">${name}</h3><pre>${JSON.stringify(schema, null, 2)}</pre>\n`
}

/** Returns the HTML of paragraphs with code and bold text, the only Markdown that the document uses. */
function text(markdown: string): Html[] {
  return markdown.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>\n`)
}

function inline(markdown: string): Html {
  const escaped = html`${markdown}`.text
  return new Html(escaped.replace(/`([^`]+)`/g, '<code>$1</code>').replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>'))
}
