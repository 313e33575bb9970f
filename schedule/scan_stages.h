// SPDX-License-Identifier: Apache-2.0
// Stages of a scan: what its first rows begin with stands before its loops, what updates it inside
// them, with all that the updates need of its states. The former are stored in the scan's memory.
#pragma once

#include "ir/substitute.h"
#include "schedule/schedule_data.h"

namespace tw {

// The stage whose memory the stage computes in; null when it has its own.
StageData* holder_of(const ScheduleData& schedule, const StageData& stage);

// Puts the stages of a new schedule where they belong. BadArgument for a part of a scan that is an
// output, or is read by another stage.
void place_scan_stages(ScheduleData& schedule);

// compute_root: where the stage stands unless a primitive says otherwise.
void attach_at_home(StageData& stage);

// Makes ScanUpdate an attachment to the innermost loop of the scan.
void attach_updates(ScheduleData& schedule);

// BadAttach when a stage that reads a state is not computed in each step of the scan.
void validate_scans(const ScheduleData& schedule);

// UninitializedRead when a stage is sure to read rows of a state that are not computed yet.
void check_states(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer);

// The reads and stores of parts become those of the memory that they are in.
Stmt with_parts_in_place(const ScheduleData& schedule, const Stmt& body);

}  // namespace tw
