package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/siding-dev/siding"
)

var errUnwritten = errors.New("not written yet")

func (s *Store) Groups(context.Context, siding.GroupQuery) ([]siding.Group, error) {
	return nil, errUnwritten
}

func (s *Store) MarkGroup(context.Context, siding.GroupKey, siding.GroupState, string) error {
	return errUnwritten
}

func (s *Store) Regroup(context.Context, int) (int64, error) { return 0, errUnwritten }

func (s *Store) Return(context.Context, string, ...siding.Return) ([]error, error) {
	return nil, errUnwritten
}

func (s *Store) RedriveSelected(context.Context, siding.Selection, int) (int64, error) {
	return 0, errUnwritten
}

func (s *Store) DropBodies(context.Context, siding.Drop) (int64, error) { return 0, errUnwritten }

func (s *Store) Audit(context.Context, siding.AuditOptions) iter.Seq2[siding.AuditEntry, error] {
	return func(func(siding.AuditEntry, error) bool) {}
}

func (s *Store) Note(context.Context, string) (siding.Note, error) {
	return siding.Note{}, errUnwritten
}

func (s *Store) SetNote(context.Context, siding.Note) (int64, error) { return 0, errUnwritten }

func (s *Store) CreateCampaign(context.Context, siding.CampaignPlan) (siding.Campaign, error) {
	return siding.Campaign{}, errUnwritten
}

func (s *Store) Enlist(context.Context, siding.CampaignID, siding.Place, int) (siding.Enlistment, error) {
	return siding.Enlistment{}, errUnwritten
}

func (s *Store) EnlistEach(context.Context, siding.CampaignID, string, ...string) ([]error, error) {
	return nil, errUnwritten
}

func (s *Store) StartCampaign(context.Context, siding.CampaignID) error { return errUnwritten }

func (s *Store) NextMembers(context.Context, siding.CampaignID, int) ([]siding.CampaignMember, error) {
	return nil, errUnwritten
}

func (s *Store) ReturnMembers(context.Context, siding.CampaignID, ...siding.CampaignMove) ([]siding.MemberStatus, error) {
	return nil, errUnwritten
}

func (s *Store) ReturnNext(context.Context, siding.CampaignID, int) (int64, error) {
	return 0, errUnwritten
}

func (s *Store) ActOnCampaign(context.Context, siding.CampaignID, siding.CampaignAction, string) (siding.Campaign, error) {
	return siding.Campaign{}, errUnwritten
}

func (s *Store) Campaign(context.Context, siding.CampaignID) (siding.Campaign, error) {
	return siding.Campaign{}, errUnwritten
}

func (s *Store) Campaigns(context.Context, ...siding.CampaignState) ([]siding.Campaign, error) {
	return nil, errUnwritten
}

func (s *Store) CampaignMembers(context.Context, siding.CampaignID, ...siding.MemberStatus) iter.Seq2[siding.CampaignMember, error] {
	return func(func(siding.CampaignMember, error) bool) {}
}
