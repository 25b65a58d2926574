import { checkRequest, keyChange, limits, type ProfileKeyView } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import { changeKeys, KeyLimitExceeded, keyChangeText, listKeys, UnregisteredKeys } from '@sluice/profiles'
import type { FastifyRequest } from 'fastify'
import { formOf, formTokenField } from '../access/forms.ts'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { sendProfiles } from './profiles-page.ts'

interface KeyQuery {
  Querystring: { key?: string | string[] }
}

/** Adds the page of one key, and its changes (changes.md §4). */
export const keyRoutes: PageRoutes = (dashboard, context) => {
  const { db, settings } = context

  dashboard.get<KeyQuery>('/apps/:appId/profiles/key', async (request, reply) => {
    const [key] = await listKeys(db, visitedApp(request).appId, [String(request.query.key ?? '')])
    if (key === undefined) throw new PageNotFound()
    return sendPage(reply, { title: `Key ${key.key}`, area: 'profiles', content: keyContent(request, key) })
  })

  const config = { audit: { what: 'key.change' } } as const
  dashboard.post('/apps/:appId/profiles/key', { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const form = formOf(request)
    const [enabled, description] = [form.get('enabled'), form.get('description')]
    const checked = checkRequest(keyChange, {
      ...(enabled !== null && { enabled: enabled === 'true' }),
      ...(description !== null && { description }),
    })
    if ('messages' in checked) {
      return await sendProfiles(context, request, reply.code(400), { problem: `${checked.messages.join(', ')}.` })
    }
    const change = { keys: [form.get('key') ?? ''], ...checked.value }
    request.auditTarget = keyChangeText(change)
    try {
      const { hasChanged } = await changeKeys(db, appId, change, settings.PROFILE_KEY_LIMIT)
      request.auditChange = hasChanged
    } catch (error) {
      if (error instanceof UnregisteredKeys) throw new PageNotFound()
      if (!(error instanceof KeyLimitExceeded)) throw error
      return await sendProfiles(context, request, reply.code(409), { problem: `${error.message}.` })
    }
    return reply.redirect(`/apps/${appId}/profiles#keys`, 303)
  })
}

/** Renders the forms that describe, disable or enable a key, and what follows from it. */
function keyContent(request: FastifyRequest, { key, type, enabled, description }: ProfileKeyView): Html {
  const { appId } = visitedApp(request)
  const address = `/apps/${appId}/profiles`
  const fields = html`${formTokenField(request)}<input type="hidden" name="key" value="${key}">`
  return html`<p><code class="as-is">${key}</code> <span class="badge">${type}</span>${!enabled && html` <span class="badge warn">disabled</span>`}</p>
    <form method="post" class="card narrow" action="${address}/key">
      ${fields}
      <label>Description
        <input type="text" name="description" value="${description}" maxlength="${limits.keyDescriptionLength}" autocomplete="off">
      </label>
      <p><button>Save the description</button></p>
    </form>
    <form method="post" class="card narrow" action="${address}/key">
      ${fields}
      <input type="hidden" name="enabled" value="${String(!enabled)}">
      ${
        enabled
          ? html`<p>Imports will ignore the column <strong>${key}</strong>, profile updates with it will be refused, and exports and
            users will be shown without it. It no longer counts towards the limit of keys. The stored values are kept, and are
            back when the key is enabled. A batch that an import is writing still applies the column.</p>
            <p class="actions"><button class="danger">Disable ${key}</button><a href="${address}#keys">Back</a></p>`
          : html`<p>Imports and profile updates will write <strong>${key}</strong> again, and the stored values are back as they were. Rows
            that were imported meanwhile lack it: import their file again.</p>
            <p class="actions"><button class="main">Enable ${key}</button><a href="${address}#keys">Back</a></p>`
      }
    </form>`
}
