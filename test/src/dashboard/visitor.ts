import assert from 'node:assert/strict'
import { signInAddress } from './sign-in-address.ts'
import type { TestDashboard } from './test-dashboard.ts'

/** What came back, redirects not followed. */
interface Answer {
  status: number
  headers: Headers
  text: string
}

/** Somebody with a browser that keeps cookies and runs no scripts. */
export interface Visitor {
  /** What the browser keeps, as it sends it. */
  cookies(): string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a form with the token that the page at `from` (the same address, where it is left out) gave. */
  post(path: string, fields?: Record<string, string>, from?: string): Promise<Answer>
  /** Chooses a file in the form at `path` and sends it. */
  postFile(path: string, fileName: string, content: Blob, action?: string): Promise<Answer>
  /** Sends a body of any form with the token that the page at `from` gave in a header, if there is a page. */
  postBody(path: string, body: RequestInit['body'], headers: Record<string, string>, from?: string): Promise<Answer>
  /** Sends a form as it stands. */
  postWithoutToken(
    path: string,
    fields: Record<string, string> | URLSearchParams,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

/** Somebody who is not signed in. */
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
    const token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1]
    assert(token !== undefined, `${path} has no form: ${page.status}`)
    return token
  }
  return {
    cookies: cookieHeader,
    get: async (path, headers = {}) => await ask(path, { headers }),
    async post(path, fields = {}, from = path) {
      return await postWithoutToken(path, { form_token: await tokenAt(from), ...fields })
    },
    async postFile(path, fileName, content, action = path) {
      const form = new FormData()
      form.set('form_token', await tokenAt(path))
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

/** A member or an operator who is signed in. */
export async function signIn(dashboard: TestDashboard, email: string): Promise<Visitor> {
  const visitor = openVisitor(dashboard)
  const answer = await visitor.post(await signInAddress(dashboard, email))
  assert.equal(answer.status, 303, answer.text)
  return visitor
}
