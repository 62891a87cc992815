/* SPDX-License-Identifier: MIT
 *
 * Names of tiers, verdicts and evidence, from the tables in <gemel/verify.h>.
 */
#include <gemel/verify.h>

const char *gemel_tier_name(gemel_tier tier) {
  static const char *const names[] = {
#define TIER_NAME(E, name, question) #name,
      GEMEL_TIER_TABLE(TIER_NAME)
#undef TIER_NAME
  };
  return (unsigned)tier < GEMEL_TIER_COUNT ? names[tier] : "?";
}

const char *gemel_verdict_name(gemel_verdict verdict) {
  static const char *const names[] = {
#define VERDICT_NAME(E, text, severity) text,
      GEMEL_VERDICT_TABLE(VERDICT_NAME)
#undef VERDICT_NAME
  };
  return (unsigned)verdict < GEMEL_VERDICT_COUNT ? names[verdict] : "?";
}

const char *gemel_evidence_name(gemel_evidence evidence) {
  static const char *const names[] = {
#define EVIDENCE_NAME(E, name, meaning) name,
      GEMEL_EVIDENCE_TABLE(EVIDENCE_NAME)
#undef EVIDENCE_NAME
  };
  return (unsigned)evidence < GEMEL_EVIDENCE_COUNT ? names[evidence] : "?";
}

int gemel_verdict_severity(gemel_verdict verdict) {
  static const int severities[] = {
#define VERDICT_SEVERITY(E, text, severity) severity,
      GEMEL_VERDICT_TABLE(VERDICT_SEVERITY)
#undef VERDICT_SEVERITY
  };
  return (unsigned)verdict < GEMEL_VERDICT_COUNT ? severities[verdict] : GEMEL_VERDICT_COUNT;
}
