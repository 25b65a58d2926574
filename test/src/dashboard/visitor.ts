import assert from 'node:assert/strict'
import { signInAddress } from './sign-in-address.ts'
import type { TestDashboard } from './test-dashboard.ts'

/** An answer. Redirects are not followed. */
interface Answer {
  status: number
  headers: Headers
  text: string
}

/** A visitor whose browser keeps cookies and runs no scripts. */
export interface Visitor {
  /** Returns the cookies as the value of a `Cookie` header. */
  cookies(): string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a form with the form token of the page at `from`, which defaults to `path`. */
  post(path: string, fields?: Record<string, string>, from?: string): Promise<Answer>
  /** Sends a file with the form at `path`, after other fields. */
  postFile(
    path: string,
    fileName: string,
    content: Blob,
    action?: string,
    fields?: Record<string, string>,
  ): Promise<Answer>
  /** Sends any body. If `from` is set, a header has the form token of that page. */
  postBody(path: string, body: RequestInit['body'], headers: Record<string, string>, from?: string): Promise<Answer>
  /** Sends a form without adding a form token. */
  postWithoutToken(
    path: string,
    fields: Record<string, string> | URLSearchParams,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

export function openVisitor({ url }: { url: string }): Visitor {
  const cookies = new Map<string, string>()
  const cookieHeader = () => [...cookies].map((pair) => pair.join('=')).join('; ')
  const ask = async (path: string, options: RequestInit = {}): Promise<Answer> => {
    const headers = {
      Accept: 'text/html',
      ...options.headers,
      Cookie: cookieHeader(),
    }
    const response = await fetch(new URL(path, url), { ...options, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const postWithoutToken: Visitor['postWithoutToken'] = async (path, fields, headers = {}) =>
    await ask(path, { method: 'POST', body: new URLSearchParams(fields), headers })
  const tokenAt = async (path: string) => {
    const page = await ask(path)
    const token = formTokenIn(page.text)
    assert(token !== '', `${path} has no form: ${page.status}`)
    return token
  }
  return {
    cookies: cookieHeader,
    get: async (path, headers = {}) => await ask(path, { headers }),
    async post(path, fields = {}, from = path) {
      return await postWithoutToken(path, { form_token: await tokenAt(from), ...fields })
    },
    async postFile(path, fileName, content, action = path, fields = {}) {
      const form = new FormData()
      form.set('form_token', await tokenAt(path))
      for (const [name, value] of Object.entries(fields)) form.set(name, value)
      form.set('file', content, fileName)
      return await ask(action, { method: 'POST', body: form })
    },
    async postBody(path, body, headers, from) {
      const token = from === undefined ? {} : { 'X-Form-Token': await tokenAt(from) }
      return await ask(path, { method: 'POST', body, headers: { ...headers, ...token }, duplex: 'half' } as RequestInit)
    },
    postWithoutToken,
  }
}

/** Returns the form token of a page, or an empty text if the page has no form. */
export function formTokenIn(page: string): string {
  return /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
}

/** Signs in a member or an operator. Returns the visitor. */
export async function signIn(dashboard: Pick<TestDashboard, 'db' | 'url'>, email: string): Promise<Visitor> {
  const visitor = openVisitor(dashboard)
  const answer = await visitor.post(await signInAddress(dashboard, email))
  assert.equal(answer.status, 303, answer.text)
  return visitor
}
