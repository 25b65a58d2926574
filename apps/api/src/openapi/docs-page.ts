import { createHash } from 'node:crypto'
import { escapeHtml } from '@sluice/html'
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

interface Endpoint {
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
  const endpoints = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const ofTag = (tag: string) => endpoints.filter(({ operation }) => operation.tags.includes(tag))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
<p>${servers.map(({ url }) => `<code>${escapeHtml(url)}</code>`).join(', ')} · <a href="openapi.json">OpenAPI document</a></p>
${text(info.description)}
<nav>${tags.map((tag) => `<h2>${escapeHtml(tag.name)}</h2>${text(tag.description)}${contents(ofTag(tag.name))}`).join('\n')}</nav>
<main>
${tags.flatMap((tag) => ofTag(tag.name).map(endpointSection)).join('\n')}
<section id="schemas"><h2>Schemas</h2>
${Object.entries(components.schemas).map(schemaEntry).join('\n')}
</section>
</main>
</body>
</html>
`
}

function contents(endpoints: readonly Endpoint[]): string {
  const items = endpoints.map(({ operation }) => {
    return `<li><a href="#${escapeHtml(operation.operationId)}">${escapeHtml(operation.summary)}</a>${marks(operation)}</li>`
  })
  return `<ul>${items.join('')}</ul>`
}

function endpointSection({ method, path, operation }: Endpoint): string {
  const { parameters = [], requestBody, responses } = operation
  const rows = parameters.map(({ name, description, example }) => {
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${inline(description)}</td><td><code>${escapeHtml(String(example))}</code></td></tr>`
  })
  return `<section id="${escapeHtml(operation.operationId)}">
<h2>${escapeHtml(operation.summary)}${marks(operation)}</h2>
<p><code><b class="method">${escapeHtml(method)}</b> ${escapeHtml(path)}</code></p>
${text(operation.description)}
${rows.length > 0 ? `<h3>Parameters</h3><table>${rows.join('')}</table>` : ''}
${requestBody ? `<h3>Request</h3>${text(requestBody.description)}${bodies(requestBody.content)}` : ''}
<h3>Answers</h3>
${Object.entries(responses).map(responseEntry).join('\n')}
</section>`
}

function marks(operation: Operation): string {
  const names = [
    ...(operation.security.length > 0 ? ['token'] : []),
    ...(operation.deprecated ? ['deprecated'] : []),
    ...(operation['x-sluice-extension'] ? ['extension'] : []),
  ]
  return names.map((name) => ` <span class="mark">${name}</span>`).join('')
}

function responseEntry([status, { description, headers = {}, content = {} }]: [string, Response]): string {
  const rows = Object.entries(headers).map(([name, header]) => {
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${inline(header.description)}</td></tr>`
  })
  return `<details${status.startsWith('2') ? ' open' : ''}><summary><b>${escapeHtml(status)}</b> ${inline(description)}</summary>
${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}
${bodies(content)}</details>`
}

function bodies(content: Record<string, Content>): string {
  const parts = Object.entries(content).map(([type, { schema, examples }]) => {
    const shown = Object.values(examples).map(({ summary, value }) => {
      const code = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
      return `${summary === undefined ? '' : `<p>${inline(summary)}</p>`}<pre>${escapeHtml(code)}</pre>`
    })
    return `<p><code>${escapeHtml(type)}</code>${schemaLink(schema)}</p>${shown.join('\n')}`
  })
  return parts.join('\n')
}

function schemaLink({ $ref }: JsonSchema): string {
  const name = typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
  return name === undefined ? '' : ` of schema <a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`
}

function schemaEntry([name, schema]: [string, JsonSchema]): string {
  return `<h3 id="schema-${escapeHtml(name)}">${escapeHtml(name)}</h3><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`
}

/** Returns the HTML of paragraphs with code and bold text, the only Markdown that the document uses. */
function text(markdown: string): string {
  return markdown
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n')
}

function inline(markdown: string): string {
  return escapeHtml(markdown)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
}
