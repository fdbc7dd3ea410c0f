import { Router } from 'express';
import { z } from 'zod';
import { parseId } from '#shared/contract/ids.ts';
import { answer, answerText } from '#shared/platform/http/answer.ts';
import { cursorField, idField, limitField, parseBody, parseQuery } from '#shared/platform/http/parse-request.ts';
import { ensureP2p } from '#shared/tenant/conversation/p2p-conversation.ts';
import { getHistory } from '#shared/tenant/message/get-messages.ts';
import { messageData } from '#shared/tenant/message/new-message.ts';
import { authenticated, identityOf } from './authenticated.ts';
import { tenantDeps } from './deps.ts';
import type { PublicApiDeps } from './deps.ts';

const p2pBody = z.object({ user_id: idField('user_id') });
const historyQuery = z.object({ before: cursorField('before'), limit: limitField(50, 200) });

/** `/v1/conversations`: the one conversation with somebody, and the history of any of mine. @see MSG-49 @see MSG-72 */
export function conversationsRouter(deps: PublicApiDeps): Router {
  const router = Router();
  router.use(authenticated(deps.login));
  router.post('/p2p', async (request, response) => {
    const { tenant, userId } = identityOf(request);
    const { user_id: otherId } = parseBody(p2pBody, request);
    const { db, ids } = tenantDeps(deps, tenant);
    const conversationId = await db.transaction((tx) => ensureP2p({ ids }, tx, userId, otherId));
    answer(request, response, { conversation_id: conversationId.toString() });
  });
  router.get('/:id/messages', async (request, response) => {
    const identity = identityOf(request);
    deps.limits.assertHistory(identity);
    const { tenant, userId } = identity;
    const conversationId = parseId(request.params.id, 'id');
    const { before, limit } = parseQuery(historyQuery, request);
    const page = await getHistory(tenantDeps(deps, tenant).db, userId, conversationId, before, limit);
    const messages = page.messages.map(messageData).join(',');
    answerText(request, response, `{"conversation_id":"${conversationId.toString()}","messages":[${messages}],"has_more":${page.hasMore}}`);
  });
  return router;
}
