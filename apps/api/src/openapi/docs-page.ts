import { createHash } from 'node:crypto'
import { Html, html } from '@sluice/html'
import type { ApiDocument, Content, JsonSchema, Operation, Response } from './document-types.ts'

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: light-dark(#2563eb, #8ab4ff); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem; }
h1, h2, h3 { line-height: 1.25; } section { border-top: 1px solid var(--line); margin-top: 2rem; }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; } code { overflow-wrap: anywhere; }
pre { background: var(--soft); border-radius: 6px; overflow-x: auto; padding: 0.75rem; }
table { border-collapse: collapse; width: 100%; } th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0;
  text-align: left; vertical-align: top; } td:first-child code { white-space: nowrap; }
details { margin: 0.4rem 0; } summary { cursor: pointer; }
.method { color: var(--accent); } .mark { background: var(--soft); border-radius: 4px; font-size: 0.8rem; padding: 0.1rem 0.4rem; }
`

/** Prevents the page from loading or running anything and from being framed. The digest allows the page's style. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface DocumentedOperation {
  method: string
  path: string
  operation: Operation
}

/**
 * Returns the API document as one HTML page. The page has no script and no external resource, and all texts are
 * escaped.
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
<h1>${info.title} <small>${info.version}</small></h1>
<p>${servers.map(({ url }) => html`<code>${url}</code> `)}· <a href="openapi.json">OpenAPI document</a></p>
${text(info.description)}
<nav>${tags.map((tag) => html`<h2>${tag.name}</h2>${text(tag.description)}${contents(ofTag(tag.name))}\n`)}</nav>
<main>
${tags.map((tag) => ofTag(tag.name).map(section))}
<section id="schemas"><h2>Schemas</h2>
${Object.entries(components.schemas).map(schemaEntry)}
</section>
</main>
</body>
</html>
`.text
}

function contents(operations: readonly DocumentedOperation[]): Html {
  const items = operations.map(
    ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a>${marks(operation)}</li>`,
  )
  return html`<ul>${items}</ul>`
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
${rows.length > 0 && html`<h3>Parameters</h3><table>${rows}</table>`}
${requestBody && html`<h3>Request</h3>${text(requestBody.description)}${bodies(requestBody.content)}`}
<h3>Answers</h3>
${Object.entries(responses).map(responseEntry)}
</section>
`
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
