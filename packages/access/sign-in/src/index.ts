export {
  acceptInvitation,
  findInvitation,
  type Invitation,
  type InvitationOutcome,
  invitationDays,
  inviteMember,
  listInvitations,
  withdrawInvitation,
} from './invitation.ts'
export { createLink, findLink, linkMinutes, type SignInLink } from './link.ts'
export { localPath } from './local-path.ts'
export { addOperator, isLastOperator, listOperators, removeOperator } from './operator.ts'
export { type Identity, SignInRefused } from './provider/identity.ts'
export {
  type IdentityProvider,
  openProvider,
  type ProviderOptions,
  ProviderUnavailable,
} from './provider/provider.ts'
export { isOfProvider, type ProviderSignIn, signInAtProvider } from './provider/session.ts'
export { endSession, findVisitor, redeemLink, sessionDays, type Visitor } from './session.ts'
export { openSigner, type Signer } from './signer.ts'
