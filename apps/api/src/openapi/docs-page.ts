import { Html, html } from '@sluice/html'
import { script, style } from './docs-assets.ts'
import type { ApiDocument, CodeSample, Content, JsonSchema, Operation, Response } from './document-types.ts'
import { guideNames, guides } from './guides.ts'
import { type Member, membersOf } from './members.ts'

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
  const tableOf = (schema: JsonSchema) => memberTable(membersOf(schema, components.schemas))
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
${tags.map((tag) => ofTag(tag.name).map((each) => section(each, tableOf)))}
<section id="schemas"><h2>Schemas</h2>
${Object.entries(components.schemas).map(([name, each]) => html`<h3 id="schema-${name}">${name}</h3>${tableOf(each)}\n`)}
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

/** Returns what the page shows of a schema. */
type Describe = (schema: JsonSchema) => Html | undefined

function section({ method, path, operation }: DocumentedOperation, tableOf: Describe): Html {
  const { parameters = [], requestBody, responses } = operation
  const rows = parameters.map(
    ({ name, description, example }) =>
      html`<tr><td><code>${name}</code></td><td>${inline(description)}</td><td><code>${String(example)}</code></td></tr>`,
  )
  return html`<section id="${operation.operationId}">
<h2>${operation.summary}${badges(operation)}</h2>
<p><code><b class="method">${method}</b> ${path}</code></p>
${text(operation.description)}
${samples(operation)}
${rows.length > 0 && html`<h3>Parameters</h3><table>${rows}</table>`}
${requestBody && html`<h3>Request</h3>${text(requestBody.description)}${bodies(requestBody.content, tableOf)}`}
<h3>Answers</h3>
${Object.entries(responses).map(([status, each]) => responseEntry(status, each, tableOf))}
</section>
`
}

function samples({ operationId, 'x-codeSamples': all = [] }: Operation): Html {
  const each = ({ label, source }: CodeSample, index: number) =>
    html`<details name="sample-${operationId}" data-language="${label}"${index === 0 && html` open`}><summary>${label}</summary>
<pre tabindex="0">${source}</pre></details>
`
  return html`<h3>Example</h3>\n${all.map(each)}`
}

function badges(operation: Operation): Html[] {
  const names = [
    ...(operation.security.length > 0 ? ['token'] : []),
    ...(operation.deprecated ? ['deprecated'] : []),
    ...(operation['x-sluice-extension'] ? ['extension'] : []),
  ]
  return names.map((name) => html` <span class="badge">${name}</span>`)
}

function responseEntry(status: string, { description, headers = {}, content = {} }: Response, tableOf: Describe): Html {
  const isSuccess = status.startsWith('2')
  const rows = Object.entries(headers).map(
    ([name, header]) => html`<tr><td><code>${name}</code></td><td>${inline(header.description)}</td></tr>`,
  )
  return html`<details${isSuccess && html` open`}><summary><b>${status}</b> ${inline(description)}</summary>
${rows.length > 0 && html`<table>${rows}</table>`}
${bodies(content, isSuccess ? tableOf : schemaLink)}</details>
`
}

function bodies(content: Record<string, Content>, describe: Describe): Html[] {
  return Object.entries(content).map(([type, { schema, examples }]) => {
    const shown = Object.values(examples).map(({ summary, value }) => {
      const code = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
      return html`${summary !== undefined && html`<p>${inline(summary)}</p>`}<pre tabindex="0">${code}</pre>\n`
    })
    return html`<p><code>${type}</code></p>${describe(schema)}${shown}\n`
  })
}

/** Returns a link: the same bodies of errors are answered everywhere. */
function schemaLink({ $ref }: JsonSchema): Html | undefined {
  const name = typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
  return name === undefined ? undefined : html`<p>Schema <a href="#schema-${name}">${name}</a></p>`
}

function memberTable(members: Member[]): Html | undefined {
  const rows = members.map(
    ({ path, type, isRequired, description }) =>
      html`<tr><td><code>${path}</code></td><td><code>${type}</code></td><td>${isRequired ? 'yes' : 'no'}</td><td>${inline(description)}</td></tr>\n`,
  )
  return rows.length === 0
    ? undefined
    : html`<table class="members"><tr><th>Member</th><th>Type</th><th>Required</th><th>Meaning</th></tr>\n${rows}</table>`
}

/** Returns the HTML of paragraphs with code and bold text, the only Markdown that the document uses. */
function text(markdown: string): Html[] {
  return markdown.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>\n`)
}

function inline(markdown: string): Html {
  const escaped = html`${markdown}`.text
  return new Html(escaped.replace(/`([^`]+)`/g, '<code>$1</code>').replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>'))
}
