import assert from 'node:assert/strict'
import { addOperator } from '@sluice/sign-in'
import { formTokenIn, signIn } from '../../../dashboard/visitor.ts'
import { type App, upload } from '../../../stack/client.ts'
import type { StackAccess } from '../../../stack/running-stack.ts'
import type { FuzzedServer, FuzzRequest } from './request.ts'

const boundary = 'the-boundary'

/** Opens the dashboard, with its pages and forms as an operator sees them who is a member of an app. */
export function fuzzedDashboard(stack: StackAccess, url: string, app: App): FuzzedServer {
  return {
    name: 'dashboard',
    url,
    dictionary: [
      ...[
        '&',
        '=',
        '+',
        '%00',
        '%',
        '%ff',
        'form_token=',
        `--${boundary}`,
        `--${boundary}--`,
        '\r\n\r\n',
        'name="file"',
      ],
      ...[
        'filename=""',
        'Content-Disposition: form-data; name="',
        "; filename*=utf-8''%",
        '<script>',
        '/../',
        '?page=',
      ],
      ...['Cookie: ', 'sluice_session=', 'sluice_guest=', '.', ';', 'Last-Event-ID: ', 'Accept: text/html', '{"', '[]'],
    ],
    async validRequests() {
      const importId = await upload(stack.api, app.token, Buffer.from('user_id,age\nu1,34\nnobody,1\n'))
      const session = await openSession(stack, url, app)
      return [...pagesOf(app.appId, importId, session), ...formsOf(app.appId, importId, session)]
    },
  }
}

/** What a signed-in browser sends with each form. */
interface Session {
  cookie: string
  formToken: string
}

async function openSession(stack: StackAccess, url: string, { appId, email }: App): Promise<Session> {
  await addOperator(stack.db, email)
  const visitor = await signIn({ db: stack.db, url }, email)
  const { text } = await visitor.get(`/apps/${appId}/data-import`)
  const formToken = formTokenIn(text)
  assert(formToken !== '', 'the page has no form')
  return { cookie: visitor.cookies(), formToken }
}

function pagesOf(appId: number, importId: string, { cookie }: Session): FuzzRequest[] {
  const ofApp = [
    ...['', '/imports', `/imports/${importId}`, `/imports/${importId}/events`, `/imports/${importId}/error-file`],
    ...'/profiles?user=u1 /deletions /credentials /credentials/api-token /settings /webhooks /data-import'.split(' '),
    ...'/audit-log /operation /imports?before=5 /audit-log/file /webhooks?page=2 /profiles/user?user=u1'.split(' '),
    '/settings/members/remove?member=a',
    '/audit-log?who=a&what=sign_in&since=2026-03-01&until=2026-03-02',
  ]
  const targets =
    '/queues / /imports /audit-log /sign-in /readyz /unsubscribe/1/x /invitations/1/x /help /queues/pause'.split(' ')
  return [...targets, ...ofApp.map((path) => `/apps/${appId}${path}`)].map((target) => ({
    method: 'GET',
    target,
    headers: { Accept: 'text/html', Cookie: cookie },
    body: Buffer.alloc(0),
  }))
}

function formsOf(appId: number, importId: string, { cookie, formToken }: Session): FuzzRequest[] {
  const form = (path: string, fields: Record<string, string> = {}): FuzzRequest => ({
    method: 'POST',
    target: path.startsWith('/apps') ? path : `/apps/${appId}${path}`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html', Cookie: cookie },
    body: Buffer.from(new URLSearchParams({ form_token: formToken, ...fields }).toString()),
  })
  const mapping = JSON.stringify([{ name: 'ID', key: 'user_id', left_out: false, form: 'as-is' }])
  return [
    form('/data-import/mappings/find', { columns: '["ID","age"]' }),
    form('/data-import/mappings/keep', { columns: '["ID","age"]', mapping }),
    form('/data-import/mappings/forget', { columns: '["ID","age"]' }),
    form('/settings/members', { email: 'new@example.com' }),
    form('/settings/invitations/withdraw', { email: 'new@example.com' }),
    form('/settings/imports', { new_keys: 'refuse' }),
    form('/webhooks', { url: 'https://example.com/hook', event: 'import.completed' }),
    form('/webhooks/remove', { webhook: '1' }),
    form('/webhooks/send-again', { delivery: '1' }),
    form('/profiles/exports', { key: 'age' }),
    form('/profiles/deletion/check', { users: 'u1\nnobody' }),
    form('/profiles/deletion', { users: 'u1\nnobody' }),
    form('/credentials/access-keys', { key: 'AKIA' }),
    form('/credentials/access-keys/delete', { key: 'AKIA' }),
    form(`/imports/${importId}/cancel`),
    form(`/imports/${importId}/retry`),
    ...[fileForm('people.csv'), fileForm('')].flatMap((body) =>
      ['/data-import', '/data-import/dry-run'].map((path) => ({
        method: 'POST',
        target: `/apps/${appId}${path}`,
        headers: {
          'Content-Type': `multipart/form-data; boundary=${boundary}`,
          Cookie: cookie,
          'X-Form-Token': formToken,
        },
        body,
      })),
    ),
  ]
}

function fileForm(fileName: string): Buffer {
  const part = (head: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
  const types = part('name="profile_types"', '{"age":"int"}')
  const file = part(`name="file"; filename="${fileName}"\r\nContent-Type: text/csv`, 'user_id,age\nu1,34\n')
  return Buffer.from(`${types}${file}--${boundary}--\r\n`)
}
