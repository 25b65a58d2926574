import type { Signer } from '@sluice/sign-in'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Cookies whose text this service has signed, so that nobody else makes one up. */
export interface SignedCookies {
  /** Gives the text, or undefined where there is no such cookie or its signature is wrong. */
  read(request: FastifyRequest, name: string): Promise<string | undefined>
  /** Sets it, out of the reach of scripts. It ends with the browser, or after `maxAge` seconds. The text has no dot. */
  write(reply: FastifyReply, name: string, text: string, maxAge?: number): Promise<void>
  clear(reply: FastifyReply, name: string): void
}

/** Opens cookies for a dashboard at this address. Over https browsers send them over nothing else, and tie them to the host. */
export function openCookies(signer: Signer, dashboardUrl: string): SignedCookies {
  const secure = dashboardUrl.startsWith('https:')
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  const fullName = (name: string) => `${secure ? '__Host-' : ''}sluice_${name}`
  const set = (reply: FastifyReply, name: string, value: string, maxAge?: number) => {
    const age = maxAge === undefined ? {} : { maxAge }
    reply.header('Set-Cookie', stringifySetCookie({ name: fullName(name), value, ...options, ...age }))
  }
  return {
    async read({ headers }, name) {
      const [text = '', signature = ''] = (parseCookie(headers.cookie ?? '')[fullName(name)] ?? '').split('.')
      return (await signer.verify(`cookie ${name}`, text, signature)) ? text : undefined
    },
    async write(reply, name, text, maxAge) {
      set(reply, name, `${text}.${await signer.sign(`cookie ${name}`, text)}`, maxAge)
    },
    clear: (reply, name) => set(reply, name, '', 0),
  }
}
