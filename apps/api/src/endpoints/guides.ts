import { type Endpoint, endpoint, ofService } from '../endpoint.ts'
import { type GuideName, guideNames, guides } from '../openapi/guides.ts'
import { etag, pageHeaders, sendDocument, sendPage } from '../openapi/served-document.ts'

const text = (description: string, type: string, example: string) =>
  ({ status: 200, description, content: { type, schema: { type: 'string' }, example }, hasValidator: true }) as const

function pageOf(name: GuideName): Endpoint {
  return endpoint({
    ...ofService,
    id: `get${guides[name].id}Page`,
    route: `GET /docs/${name}`,
    summary: `${guides[name].title}, for people`,
    description: 'A page that works without scripts and without a network.',
    answer: { ...text('The page.', 'text/html', '<!doctype html>…'), headers: pageHeaders },
    serve:
      ({ document }) =>
      async ({ request, reply }) =>
        sendPage(request, reply, document.guideOf(name).html),
  })
}

function markdownOf(name: GuideName): Endpoint {
  return endpoint({
    ...ofService,
    id: `get${guides[name].id}Markdown`,
    route: `GET /docs/${name}.md`,
    summary: `${guides[name].title}, as Markdown`,
    description: 'The same text as the page, for programs.',
    answer: { ...text('The text.', 'text/markdown', '# The HTTP API\n…'), headers: etag },
    serve:
      ({ document }) =>
      async ({ request, reply }) =>
        sendDocument(request, reply.type('text/markdown; charset=utf-8'), document.guideOf(name).markdown),
  })
}

/** docs/api.md and docs/guide.md, each as a page and as Markdown. */
export const guideEndpoints: readonly Endpoint[] = guideNames.flatMap((name) => [pageOf(name), markdownOf(name)])

/** Where a program that knows only the address begins to read. */
export const llms = endpoint({
  ...ofService,
  id: 'getLlmsText',
  route: 'GET /llms.txt',
  summary: 'What programs should read first',
  description: 'The addresses of the documents, in the form of llmstxt.org.',
  answer: { ...text('The text.', 'text/plain', '# Sluice API\n…'), headers: etag },
  serve:
    ({ document }) =>
    async ({ request, reply }) =>
      sendDocument(request, reply.type('text/plain; charset=utf-8'), document.llms),
})
